#include "explore/replay/tasks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ndarray.h"
#include "base/random.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "compiler/graph/parse.h"
#include "compiler/pipeline.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/host/target.h"
#include "isa/config.h"

namespace dovetail::explore {

namespace {

constexpr std::array<ReplayTask, 12> kTasks{{
    {"accel.conv3x3", bundle::kAccelTarget, "convolution", R"(graph resnet18_layer1(%x: int8[1, 64, 56, 56]) -> (%y)
  constant %w: int8[64, 64, 3, 3]
  constant %b: int32[64]
  constant %s: float32[64]
  %y: int8[1, 64, 56, 56] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=0, y_zero_point=0, y_min=0}
)"},
    {"accel.conv3x3_stride2", bundle::kAccelTarget, "convolution",
     R"(graph resnet18_layer3(%x: int8[1, 128, 28, 28]) -> (%y)
  constant %w: int8[256, 128, 3, 3]
  constant %b: int32[256]
  constant %s: float32[256]
  %y: int8[1, 256, 14, 14] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], strides=[2, 2], x_zero_point=0, y_zero_point=0, y_min=0}
)"},
    {"accel.conv1x1", bundle::kAccelTarget, "convolution",
     R"(graph resnet18_shortcut2(%x: int8[1, 64, 56, 56]) -> (%y)
  constant %w: int8[128, 64, 1, 1]
  constant %b: int32[128]
  constant %s: float32[128]
  %y: int8[1, 128, 28, 28] = dovetail.qconv(%x, %w, %b, %s) {strides=[2, 2], x_zero_point=0, y_zero_point=0}
)"},
    {"accel.conv3x3_small", bundle::kAccelTarget, "convolution",
     R"(graph resnet8_stack2(%x: int8[1, 32, 16, 16]) -> (%y)
  constant %w: int8[32, 32, 3, 3]
  constant %b: int32[32]
  constant %s: float32[32]
  %y: int8[1, 32, 16, 16] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=-128, y_zero_point=3}
)"},
    {"accel.addition", bundle::kAccelTarget, "addition",
     R"(graph resnet18_sum2(%a: int8[1, 128, 28, 28], %b: int8[1, 128, 28, 28]) -> (%y)
  %y: int8[1, 128, 28, 28] = dovetail.qadd(%a, %b) {a_multiplier=32768.0, a_zero_point=0, b_multiplier=32768.0, b_zero_point=0, scale=1.52587890625e-05, y_zero_point=0, y_min=0}
)"},
    {"accel.max_pooling", bundle::kAccelTarget, "max_pooling",
     R"(graph resnet18_pool(%x: int8[1, 64, 112, 112]) -> (%y)
  %y: int8[1, 64, 56, 56] = MaxPool(%x) {kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]}
)"},
    {"cpu.conv3x3", bundle::kCpuTarget, "convolution", R"(graph resnet18_layer1(%x: float32[1, 64, 16, 16]) -> (%y)
  constant %w: float32[64, 64, 3, 3]
  constant %b: float32[64]
  %c: float32[1, 64, 16, 16] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}
  %y: float32[1, 64, 16, 16] = Relu(%c)
)"},
    {"cpu.conv1x1", bundle::kCpuTarget, "convolution", R"(graph mobilenet_v2_expand(%x: float32[1, 24, 28, 28]) -> (%y)
  constant %w: float32[144, 24, 1, 1]
  constant %b: float32[144]
  %c: float32[1, 144, 28, 28] = Conv(%x, %w, %b)
  %y: float32[1, 144, 28, 28] = Relu(%c)
)"},
    {"cpu.qconv3x3", bundle::kCpuTarget, "convolution", R"(graph resnet18_layer1(%x: int8[1, 64, 16, 16]) -> (%y)
  constant %w: int8[64, 64, 3, 3]
  constant %b: int32[64]
  constant %s: float32[64]
  %y: int8[1, 64, 16, 16] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=-128, y_zero_point=-128}
)"},
    {"cpu.depthwise3x3", bundle::kCpuTarget, "window",
     R"(graph mobilenet_v2_depthwise(%x: float32[1, 144, 28, 28]) -> (%y)
  constant %w: float32[144, 1, 3, 3]
  constant %b: float32[144]
  %c: float32[1, 144, 28, 28] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1], group=144}
  %y: float32[1, 144, 28, 28] = Relu(%c)
)"},
    {"cpu.matmul", bundle::kCpuTarget, "matmul", R"(graph gpt_projection(%x: float32[64, 256]) -> (%y)
  constant %w: float32[256, 256]
  %y: float32[64, 256] = MatMul(%x, %w)
)"},
    {"cpu.qmatmul", bundle::kCpuTarget, "matmul", R"(graph gpt_projection(%x: int8[64, 256]) -> (%y)
  constant %w: int8[256, 256]
  constant %b: int32[256]
  constant %s: float32[256]
  %y: int8[64, 256] = dovetail.qgemm(%x, %w, %b, %s) {x_zero_point=3, y_zero_point=-5}
)"},
}};

// Random constants: weights of both signs, small biases, positive scales.
NdArray drawn(const graph::TensorType& type) {
  SplitMix64 random(1);
  NdArray array(type.dtype, type.shape);
  if (type.dtype == DType::float32)
    for (float& value : array.data<float>()) value = 0.001F + static_cast<float>(random.next() >> 40) * 0x1p-34F;
  if (type.dtype == DType::int32)
    for (std::int32_t& value : array.data<std::int32_t>())
      value = static_cast<std::int32_t>(random.next() % 2001) - 1000;
  if (type.dtype == DType::int8)
    for (std::int8_t& value : array.data<std::int8_t>()) value = static_cast<std::int8_t>(random.next() % 255) - 127;
  return array;
}

Result<TargetPointer> target_of(const ReplayTask& row) {
  if (bundle::runs_on(bundle::TargetDevice::accelerator, row.target)) {
    constexpr double kClockMhz = 1000;
    DOVETAIL_ASSIGN(const isa::HardwareConfig hardware, isa::load_config(kReplayHardware));
    return accel::make_target(hardware, kClockMhz);
  }
  DOVETAIL_ASSIGN(cpu::Cpu processor, cpu::find_cpu(kReplayProcessor));
  return cpu::make_target(std::move(processor));
}

}  // namespace

std::span<const ReplayTask> replay_tasks() { return kTasks; }

Result<const ReplayTask*> find_replay_task(std::string_view name) {
  const auto row = std::ranges::find(kTasks, name, &ReplayTask::name);
  if (row != kTasks.end()) return &*row;
  std::string names;
  for (const ReplayTask& each : kTasks) names += (names.empty() ? "" : ", ") + std::string(each.name);
  return Diagnostic{"unknown task", std::string(name), "there is no task of this name", "choose one of " + names};
}

Result<FoundTask> find_task(const ReplayTask& row) {
  DOVETAIL_ASSIGN(TargetPointer target, target_of(row));
  return find_task(row, std::move(target));
}

Result<FoundTask> find_task(const ReplayTask& row, TargetPointer target) {
  DOVETAIL_ASSIGN(graph::Graph graph,
                  graph::parse(row.graph, row.name, [](auto, const auto& type) { return drawn(type); }));
  std::vector<std::pair<schedule::Task, schedule::Sketch>> found;
  CompileOptions options;
  options.available = {std::move(target), host::make_target()};
  options.targets = {std::string(row.target)};
  options.free_borders = true;  // as for a layer between other layers
  options.recorded = [&](const schedule::Task& task, const schedule::Sketch& sketch) {
    const bool known =
        std::ranges::any_of(found, [&](const auto& f) { return schedule::key(f.first) == schedule::key(task); });
    if (!known) found.emplace_back(task, sketch);
    return schedule::Recorded{};
  };
  DOVETAIL_TRY(compile({std::move(graph), {}}, options));
  // On a processor with tiles, int8 convolutions have the kind "tile_convolution".
  const auto of_other_kind = [](const std::string& kind) {
    return [kind](const auto& f) { return f.first.kind != kind; };
  };
  const bool exact = std::ranges::any_of(found, [&](const auto& f) { return f.first.kind == row.kind; });
  std::erase_if(found, of_other_kind(exact ? std::string(row.kind) : fmt::format("tile_{}", row.kind)));
  if (found.size() != 1)
    return Diagnostic{
        "cannot make the task", std::string(row.name),
        fmt::format("the graph has {} tasks of kind {} on this target, but needs exactly one", found.size(), row.kind),
        "choose other hardware, or another task"};
  return FoundTask{std::move(found.front().first), std::move(found.front().second), std::move(options.available)};
}

}  // namespace dovetail::explore
