// Tasks of the CPU, made from graphs in the same way as its target makes them.
#pragma once

#include <string>

#include "compiler/fuse/fuse.h"
#include "compiler/graph/parse.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/prepare.h"
#include "compiler/target/cpu/sketches/conv_operands.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "tests/catch.h"

namespace dovetail::test {

// Returns the task of the graph's only kernel. Constants whose elements the text omits are zeros.
inline schedule::Task cpu_task(const std::string& text, const std::string& kind, const cpu::Cpu& cpu) {
  const auto graph =
      graph::parse(text, "test", [](auto, const graph::TensorType& type) { return NdArray(type.dtype, type.shape); });
  if (!graph) FAIL(to_string(graph.errors()));
  const auto groups = fuse_groups(*graph, graph->topological_order());
  if (!groups) FAIL(to_string(groups.errors()));
  REQUIRE(groups->size() == 1);
  const FusedGroup& group = groups->front();
  const auto layout = [&](graph::ValueId value) {
    return graph->value(value).type.shape.size() == 4 ? cpu::channels_last(4) : std::string();
  };
  cpu::GroupLayouts layouts;
  for (const graph::ValueId argument : group.arguments) layouts.arguments.push_back(layout(argument));
  for (const graph::ValueId result : group.results) layouts.results.push_back(layout(result));
  cpu::Preparation prepared(group, layouts, cpu, kind);
  cpu::find_kind(kind)->prepare(prepared);
  return std::move(prepared.task);
}

inline schedule::Scheduled scheduled_as(const schedule::Task& task, const cpu::Cpu& cpu,
                                        const schedule::Decisions& decisions = {}) {
  auto scheduled = schedule::run(cpu::sketch_of(*cpu::find_kind(task.kind), cpu), task, decisions);
  if (!scheduled) FAIL(to_string(scheduled.errors()));
  return *std::move(scheduled);
}

struct CpuTaskText {
  std::string kind, text;
};
inline const CpuTaskText kConvolutionTask{"convolution", R"(graph g(%x: float32[1, 16, 14, 14]) -> (%y)
  constant %w: float32[32, 16, 3, 3]
  constant %b: float32[32]
  %c: float32[1, 32, 14, 14] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}
  %y: float32[1, 32, 14, 14] = Relu(%c)
)"};
inline const CpuTaskText kPixelConvolutionTask{"pixel_convolution", R"(graph g(%x: float32[1, 16, 30, 70]) -> (%y)
  constant %w: float32[1, 16, 3, 3]
  constant %b: float32[1]
  %c: float32[1, 1, 30, 70] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}
  %y: float32[1, 1, 30, 70] = Relu(%c)
)"};
inline const CpuTaskText kInt8ConvolutionTask{"convolution", R"(graph g(%x: int8[1, 16, 14, 14]) -> (%y)
  constant %w: int8[32, 16, 3, 3]
  constant %b: int32[32]
  constant %s: float32[32]
  %y: int8[1, 32, 14, 14] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=3, y_zero_point=-5}
)"};
inline const CpuTaskText kWindowTask{"window", R"(graph g(%x: float32[1, 32, 14, 14]) -> (%y)
  constant %w: float32[32, 1, 3, 3]
  %y: float32[1, 32, 14, 14] = Conv(%x, %w) {pads=[1, 1, 1, 1], group=32}
)"};
inline const CpuTaskText kMatmulTask{"matmul", R"(graph g(%x: float32[64, 96]) -> (%y)
  constant %w: float32[96, 64]
  %y: float32[64, 64] = MatMul(%x, %w)
)"};
inline const CpuTaskText kInt8MatmulTask{"matmul", R"(graph g(%x: int8[64, 96]) -> (%y)
  constant %w: int8[64, 96]
  constant %b: int32[64]
  constant %s: float32[64]
  %y: int8[64, 64] = dovetail.qgemm(%x, %w, %b, %s) {x_zero_point=3, y_zero_point=-5}
)"};
inline const CpuTaskText kGatherTask{"generic", R"(graph g(%x: float32[50, 32], %i: int64[40]) -> (%y)
  %y: float32[40, 32] = Gather(%x, %i)
)"};
inline const CpuTaskText kSoftmaxTask{"generic", R"(graph g(%x: float32[64, 100]) -> (%y)
  %y: float32[64, 100] = Softmax(%x)
)"};

}  // namespace dovetail::test
