// Products of bytes in tile registers: the interpreter runs the scheduled program, including calls of intrinsics, on
// any machine, and the values are those of the operator's definition; so are those of machine code that emulates the
// instructions of tile registers and checks their bounds. Also the splitting and extension of extents.
#include "compiler/target/cpu/sketches/tiles.h"

#include "base/processor.h"
#include "base/random.h"
#include "compiler/schedule/index_map.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/jit.h"
#include "loops/interpreter.h"
#include "loops/print.h"
#include "tests/cpu_task.h"

using namespace dovetail;
using namespace dovetail::test;
using Catch::Matchers::ContainsSubstring;

namespace {

NdArray random_array(DType dtype, const Shape& shape, SplitMix64& random) {
  NdArray array(dtype, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const auto byte = static_cast<std::int64_t>(random.next() % 256);
    if (dtype == DType::float32) array.set_double(i, static_cast<double>(1 + byte) / 65536);
    else array.set_int64(i, dtype == DType::uint8 ? byte : dtype == DType::int32 ? 300 * byte - 40000 : byte - 128);
  }
  return array;
}

NdArray laid_out(const NdArray& array, const std::map<std::string, std::string>& layouts, const std::string& name) {
  const auto layout = layouts.find(name);
  if (layout == layouts.end() || layout->second.empty()) return array;
  return schedule::pack(array, *schedule::parse_index_map(layout->second, array.shape()));
}

// The schedule that the kind's sketch writes for the graph's only kernel, whose program runs next to the definition.
schedule::Scheduled check(const std::string& text, const std::string& kind) {
  const cpu::Cpu cpu = cpu::find_cpu("avx512-amx").value();
  SplitMix64 random(7);
  const auto graph = graph::parse(
      text, "test", [&](auto, const graph::TensorType& type) { return random_array(type.dtype, type.shape, random); });
  if (!graph) FAIL(to_string(graph.errors()));
  const auto groups = fuse_groups(*graph, graph->topological_order());
  REQUIRE(groups.ok());
  REQUIRE(groups->size() == 1);
  const FusedGroup& group = groups->front();
  cpu::GroupLayouts layouts{std::vector<std::string>(group.arguments.size()),
                            std::vector<std::string>(group.results.size())};
  cpu::Preparation prepared(group, layouts, cpu, kind);
  cpu::find_kind(kind)->prepare(prepared);
  auto scheduled = schedule::run(cpu::sketch_of(*cpu::find_kind(kind), cpu), prepared.task, {});
  if (!scheduled) FAIL(to_string(scheduled.errors()));

  std::vector<NdArray> plain, packed;
  for (std::size_t i = 0; i < group.arguments.size(); ++i) {
    const loops::Buffer& buffer = group.program.parameters[i].buffer;
    plain.push_back(group.constants[i] ? *group.constants[i] : random_array(buffer->dtype, buffer->shape, random));
    const auto changed = prepared.constants.find(i);
    packed.push_back(laid_out(changed == prepared.constants.end() ? plain.back() : changed->second, scheduled->layouts,
                              buffer->name));
  }
  const auto expected = loops::evaluate(group.program, plain);
  const auto found = loops::evaluate(scheduled->program, packed, cpu::intrinsics(cpu));
  REQUIRE(expected.ok());
  if (!found) FAIL(to_string(found.errors()) << loops::to_string(scheduled->program));
  CHECK((*found)[0] == laid_out((*expected)[0], scheduled->layouts, group.program.parameters.back().buffer->name));
  CHECK(cpu::compile_kernel(scheduled->program, cpu::intrinsics(cpu), "kernel", cpu).ok());

  // The same as machine code, with the tile shapes and addresses of the instructions.
  const cpu::Cpu software = cpu::with_checked_bounds(cpu);
  if (!runs_here(software.name)) return *std::move(scheduled);
  const auto code = cpu::JitProgram::make(scheduled->program, cpu::intrinsics(cpu), software, 2);
  if (!code) FAIL(to_string(code.errors()));
  const auto computed = code->run(packed);
  if (!computed) FAIL(to_string(computed.errors()) << loops::to_string(scheduled->program));
  CHECK(computed->front() == found->front());
  return *std::move(scheduled);
}

std::string trace_of(const schedule::Scheduled& scheduled) { return schedule::to_string(scheduled.trace); }

}  // namespace

TEST_CASE("tiles: extents are split into equal pieces") {
  for (std::int64_t extent = 1; extent < 200; ++extent) {
    const cpu::EvenPieces pieces = cpu::even_pieces(extent, 16);
    CHECK(pieces.size <= 16);
    CHECK(pieces.extent() >= extent);
    CHECK(pieces.extent() - extent < pieces.count);
    const cpu::EvenPieces again = cpu::even_pieces(pieces.extent(), 16);
    CHECK(again.size == pieces.size);
  }
}

TEST_CASE("tiles: a padded convolution with a zero point") {
  const schedule::Scheduled scheduled = check(R"(graph g(%x: int8[1, 64, 14, 14]) -> (%y)
  constant %w: int8[32, 64, 3, 3]
  constant %b: int32[32]
  constant %s: float32[32]
  %y: int8[1, 32, 14, 14] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=3, y_zero_point=-5}
)",
                                              "tile_convolution");
  CHECK_THAT(trace_of(scheduled), ContainsSubstring("x86.tdpbssd.14x16") && ContainsSubstring("x86.tilezero.14") &&
                                      ContainsSubstring("x86.tileloadd.s8.16x16") &&
                                      ContainsSubstring("x86.tilestored.14"));
}

TEST_CASE("tiles: a window's row is a row of the tile where channels are few, and odd extents are extended") {
  const schedule::Scheduled scheduled = check(R"(graph g(%x: int8[1, 3, 39, 41]) -> (%y)
  constant %w: int8[24, 3, 7, 7]
  constant %b: int32[24]
  constant %s: float32[24]
  %y: int8[1, 24, 20, 21] = dovetail.qconv(%x, %w, %b, %s) {pads=[3, 3, 3, 3], strides=[2, 2], x_zero_point=-128}
)",
                                              "tile_convolution");
  CHECK_THAT(trace_of(scheduled), ContainsSubstring("x86.tdpbssd.11x7"));
}

TEST_CASE("tiles: a convolution without padding, with a stride and a residual sum") {
  check(R"(graph g(%x: int8[2, 72, 9, 35], %r: int8[2, 16, 5, 18]) -> (%y)
  constant %w: int8[16, 72, 1, 1]
  constant %b: int32[16]
  constant %s: float32[16]
  %c: int8[2, 16, 5, 18] = dovetail.qconv(%x, %w, %b, %s) {strides=[2, 2], x_zero_point=7}
  %y: int8[2, 16, 5, 18] = dovetail.qadd(%c, %r) {a_multiplier=1.5, b_multiplier=0.75, scale=0.5}
)",
        "tile_convolution");
}

TEST_CASE("tiles: weights that exceed the first level are loaded for two rows of an image at once") {
  const schedule::Scheduled scheduled = check(R"(graph g(%x: int8[1, 256, 7, 7]) -> (%y)
  constant %w: int8[4096, 256, 3, 3]
  constant %b: int32[4096]
  constant %s: float32[4096]
  %y: int8[1, 4096, 7, 7] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1]}
)",
                                              "tile_convolution");
  CHECK_THAT(trace_of(scheduled), ContainsSubstring("x86.tdpbssd.7x16") &&
                                      ContainsSubstring("tile_columns among 1,2,4 = 2") &&
                                      ContainsSubstring("tile_down among 1,2,3,4,5,6 = 2"));
}

TEST_CASE("tiles: matrix products of signed and unsigned bytes") {
  check(R"(graph g(%x: int8[50, 100]) -> (%y)
  constant %w: int8[70, 100]
  constant %b: int32[70]
  constant %s: float32[70]
  %y: int8[50, 70] = dovetail.qgemm(%x, %w, %b, %s) {x_zero_point=3, y_zero_point=-5}
)",
        "tile_matmul");
  const schedule::Scheduled scheduled = check(R"(graph g(%x: uint8[2, 48, 128]) -> (%y)
  constant %w: int8[128, 64]
  %y: int32[2, 48, 64] = MatMulInteger(%x, %w)
)",
                                              "tile_matmul");
  CHECK_THAT(trace_of(scheduled), ContainsSubstring("x86.tdpbusd.16x16"));
}

TEST_CASE("tiles: more tiles than registers are refused") {
  const cpu::Cpu cpu = cpu::find_cpu("avx512-amx").value();
  cpu::Cpu small = cpu;
  small.tile_registers = 4;
  const schedule::Scheduled scheduled = check(R"(graph g(%x: int8[64, 128]) -> (%y)
  constant %w: int8[64, 128]
  constant %b: int32[64]
  constant %s: float32[64]
  %y: int8[64, 64] = dovetail.qgemm(%x, %w, %b, %s)
)",
                                              "tile_matmul");
  const auto refused = cpu::compile_kernel(scheduled.program, cpu::intrinsics(cpu), "kernel", small);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("the tiles need 8 registers, but the processor has 4"));
}
