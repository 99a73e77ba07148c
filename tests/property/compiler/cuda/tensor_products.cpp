// Products by tensor cores: random shapes and random decisions give the operator's values, in adversarial orders of
// threads and on the emulated GPU, which computes them lane by lane; and faults planted in the fragments of lanes are
// detected.
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <string>

#include <fmt/ranges.h>

#include "compiler/graph/parse.h"
#include "tests/plant_faults.h"
#include "tests/property/compiler/cuda/decided_layers.h"
#include "tests/property/compiler/cuda/text_faults.h"
#include "tests/property/compiler/drawn_schedules.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using dovetail::test::Change;

namespace {

constexpr std::string_view kKind = "tensor_product";

// The group of each graph, with drawn constants.
std::vector<Case> drawn(std::span<const char* const> graphs) {
  std::vector<Case> list;
  SplitMix64 random(5);
  const auto draw = [&](const graph::TensorType& type) {
    NdArray array = random_values(type, random);
    if (is_floating(type.dtype))
      for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, std::abs(array.as_double(i)) / 300);
    return array;
  };
  for (const char* text : graphs) {
    const auto graph = graph::parse(text, "quantized", [&](auto, const graph::TensorType& type) { return draw(type); });
    if (!graph) FAIL(to_string(graph.errors()));
    auto one = case_of("quantized", *graph, 1'000'000, draw);
    REQUIRE(one);
    list.push_back(*std::move(one));
  }
  return list;
}

// Layers of a quantized network: activations minus a zero point; weights, bias and scales are constant.
std::vector<Case> quantized_cases() {
  constexpr std::array<const char*, 3> kGraphs{
      R"(graph conv(%x: int8[2, 8, 7, 6]) -> (%y)
  constant %w: int8[12, 8, 3, 3]
  constant %b: int32[12]
  constant %s: float32[12]
  %y: int8[2, 12, 4, 6] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], strides=[2, 1], x_zero_point=-7, y_zero_point=-5}
)",
      R"(graph point(%x: int8[1, 40, 9, 5], %r: int8[1, 24, 9, 5]) -> (%z)
  constant %w: int8[24, 40, 1, 1]
  constant %b: int32[24]
  constant %s: float32[24]
  %y: int8[1, 24, 9, 5] = dovetail.qconv(%x, %w, %b, %s) {x_zero_point=21, y_zero_point=3}
  %z: int8[1, 24, 9, 5] = dovetail.qadd(%y, %r) {a_multiplier=0.5, a_zero_point=3, b_multiplier=0.75, b_zero_point=1, scale=1.0}
)",
      R"(graph dense(%x: int8[20, 33]) -> (%y)
  constant %w: int8[33, 33]
  constant %b: int32[33]
  constant %s: float32[33]
  %y: int8[20, 33] = dovetail.qgemm(%x, %w, %b, %s) {x_zero_point=127, y_zero_point=4}
)"};
  return drawn(kGraphs);
}

// Products of bytes without zero points: weights with adjacent columns, and unsigned activations.
std::vector<Case> integer_cases() {
  constexpr std::array<const char*, 3> kGraphs{
      R"(graph integers(%x: int8[2, 20, 48]) -> (%y)
  constant %w: int8[48, 24]
  %y: int32[2, 20, 24] = MatMulInteger(%x, %w)
)",
      R"(graph unsigned(%x: uint8[20, 48]) -> (%y)
  constant %w: int8[48, 24]
  %y: int32[20, 24] = MatMulInteger(%x, %w)
)",
      R"(graph unsigned_image(%x: uint8[2, 8, 7, 6]) -> (%y)
  constant %w: int8[12, 8, 3, 3]
  %y: int32[2, 12, 4, 6] = ConvInteger(%x, %w) {pads=[1, 1, 1, 1], strides=[2, 1]}
)"};
  return drawn(kGraphs);
}

bool is_in_parts(const Case& one) {
  return std::ranges::any_of(one.scheduled.trace, [](const schedule::Step& step) {
    return step.primitive == "rfactor" || step.primitive == "stream_k";
  });
}

std::vector<Case> tensor_cases() {
  std::vector<Case> list;
  constexpr std::array<std::array<std::int64_t, 3>, 4> kShapes{
      {{37, 29, 50}, {16, 16, 64}, {20, 40, 33}, {33, 24, 96}}};
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    for (const DType type : {DType::int8, DType::float16, DType::bfloat16})
      for (const bool drawn : {false, true}) {
        if (drawn && i > 1) continue;
        const auto [m, n, k] = kShapes[i];
        list.push_back(layer_case(layer(m, n, k, type, (i + (drawn ? 1 : 0)) % 2 == 0, true),
                                  drawn ? dovetail::test::drawn_schedules(i) : nullptr, i));
        // Sums of parts are rounded, and then results, to 8 bits of bfloat16; a device's tensor cores have their own
        // order of addition and rounding.
        if ((is_in_parts(list.back()) || dovetail::test::tests_device()) && is_floating(type))
          list.back().tolerance = 5e-3;
      }
  // A batch, both transpositions, patches.
  using Ints = std::vector<std::int64_t>;
  constexpr DType kByte = DType::int8;
  list.push_back(node_case("MatMulInteger", {{kByte, {2, 20, 40}}, {kByte, {2, 40, 24}}}, {}, 1, nullptr));
  // For a batch in parts, tiles have four dimensions, of which blocks have three axes.
  list.push_back(node_case("MatMulInteger", {{kByte, {2, 20, 128}}, {kByte, {2, 128, 24}}}, {}, 1,
                           decided({{"parts", "2"}, {"stream", "0"}})));
  CHECK(is_in_parts(list.back()));
  list.push_back(node_case("ConvInteger", {{kByte, {2, 8, 7, 6}}, {kByte, {12, 8, 3, 3}}},
                           {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 1}}}, 2, nullptr));
  for (Case& one : quantized_cases()) list.push_back(std::move(one));
  for (Case& one : integer_cases()) list.push_back(std::move(one));
  return list;
}

// float32 where the user allows TF32: small integers, which TF32 represents exactly, and other values.
std::vector<Case> tf32_cases(bool whole_numbers, bool allowed = true) {
  constexpr DType kFloat = DType::float32;
  const auto one = [&](const char* op, const std::vector<graph::TensorType>& types, graph::Attributes attributes,
                       const schedule::FindRecorded& recorded) {
    return node_case(op, types, std::move(attributes), 7, recorded, cuda::FloatSums::free, whole_numbers, allowed);
  };
  std::vector<Case> list;
  list.push_back(one("MatMul", {{kFloat, {2, 37, 30}}, {kFloat, {2, 30, 29}}}, {}, nullptr));
  list.push_back(one("Gemm", {{kFloat, {33, 40}}, {kFloat, {24, 40}}, {kFloat, {24}}}, {{"transB", std::int64_t{1}}},
                     dovetail::test::drawn_schedules(1)));
  list.push_back(one("Conv", {{kFloat, {1, 8, 7, 6}}, {kFloat, {12, 8, 3, 3}}, {kFloat, {12}}},
                     {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}, nullptr));
  list.push_back(one("MatMul", {{kFloat, {20, 64}}, {kFloat, {64, 24}}}, {}, decided({{"parts", "2"}})));
  return list;
}

Case pipelined_case(DType type) {
  return layer_case(layer(20, 20, 96, type, true, true),
                    decided({{"warps", "2"},
                             {"row_fragments", "1"},
                             {"column_fragments", "2"},
                             {"depth_fragments", "1"},
                             {"stages", "3"}}),
                    1);
}

}  // namespace

TEST_CASE("cuda: products by tensor cores have the operator's values in adversarial orders of threads") {
  for (const Case& one : tensor_cases()) {
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK(one.scheduled.kind == kKind);
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of products by tensor cores has the operator's values, lane by lane", "[gpu]") {
  check_text(tensor_cases());
}

TEST_CASE("cuda: products by tensor cores compile by NVRTC") {
  std::vector<Case> list;
  for (const DType type : {DType::int8, DType::float16, DType::bfloat16}) list.push_back(pipelined_case(type));
  for (Case& one : integer_cases()) list.push_back(std::move(one));
  check_nvrtc(list);
}

TEST_CASE("cuda: tensor cores are used for sums that may be reordered, on processors that have them") {
  const auto kind = [](const loops::Program& program, const char* architectures) {
    const auto scheduled = cuda::schedule_group(group_of(program), cuda::parse_gpu("", architectures).value(), nullptr);
    if (!scheduled) FAIL(to_string(scheduled.errors()));
    return scheduled->kind;
  };
  CHECK(kind(layer(64, 64, 64, DType::float16, true, true), "sm_80") == kKind);
  CHECK(kind(layer(64, 64, 64, DType::float16, true, false), "sm_80") == "matrix_product");
  CHECK(kind(layer(64, 64, 64, DType::float32, true, true), "sm_80") == "matrix_product");
  CHECK(kind(layer(64, 64, 64, DType::int8, true), "sm_80") == kKind);
  CHECK(kind(layer(64, 64, 64, DType::int8, true), "sm_75,sm_80") == "matrix_product");
}

TEST_CASE("cuda: layers with zero points are products of bytes with a corrected bias") {
  for (Case& one : quantized_cases()) {
    INFO(loops::to_string(one.scheduled.program));
    CHECK(one.scheduled.kind == kKind);
    REQUIRE(one.scheduled.constants.size() == 1);
    const auto values = [&] {
      return loops::run_threads(one.scheduled.kernels, one.scheduled.program.parameters, one.arguments, 1).value();
    };
    CHECK(values() == *one.expected);
    // A wrong bias.
    NdArray& bias = one.arguments[one.scheduled.constants.begin()->first];
    bias.set_int64(0, bias.as_int64(0) + 30000);
    CHECK(values() != *one.expected);
  }
}

TEST_CASE("cuda: tensor cores multiply float32 where TF32 is allowed, and only there") {
  for (const Case& one : tf32_cases(true, false)) CHECK(one.scheduled.kind != kKind);
  const std::vector<Case> whole = tf32_cases(true);
  for (const Case& one : whole) {
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
    CHECK(one.scheduled.kind == kKind);
    check_threads(one, 3);
  }
  check_text(whole);  // bit for bit
  check_nvrtc(whole);
  // The instruction rounds its factors to 11 bits.
  const std::vector<Case> others = tf32_cases(false);
  const auto results = run_text(others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    INFO(others[i].name);
    const NdArray &have = results[i].value()[0], &exact = (*others[i].expected)[0];
    double largest = 0, error = 0;
    for (std::int64_t e = 0; e < exact.count(); ++e) {
      largest = std::max(largest, std::abs(exact.as_double(e)));
      error = std::max(error, std::abs(have.as_double(e) - exact.as_double(e)));
    }
    CHECK(error > 1e-6 * largest);
    CHECK(error < 2e-3 * largest);
  }
}

TEST_CASE("cuda: faults planted in the fragments of lanes are found by run_threads") {
  const Case one = pipelined_case(DType::int8);
  REQUIRE(one.scheduled.kind == kKind);
  INFO(loops::to_string(one.scheduled.kernels));
  const auto is_found = [&](const loops::ThreadProgram& kernels, std::uint64_t seed) {
    const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed);
    return !have.ok() || *have != *one.expected;
  };
  const auto calls = [&](const std::function<void(loops::CoreCall&)>& edit) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    kernels.kernels[0].body =
        dovetail::test::changed(kernels.kernels[0].body, [&](const loops::Core& core) -> loops::Core {
          const auto* call = core ? std::get_if<loops::CoreCall>(&core->node) : nullptr;
          if (call == nullptr) return core;
          loops::CoreCall other = *call;
          edit(other);
          return loops::make_core(std::move(other));
        });
    return kernels;
  };
  const auto maps = [&](const std::function<void(loops::LaneMap&)>& edit) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    std::vector<loops::WarpOperation> operations = *kernels.operations;
    for (loops::WarpOperation& operation : operations) edit(operation.operands[0]);
    kernels.operations = std::make_shared<const std::vector<loops::WarpOperation>>(std::move(operations));
    return kernels;
  };
  const auto threads = [&](std::size_t axis, std::int64_t more) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    for (loops::BoundAxis& bound : kernels.kernels[0].axes)
      if (bound.axis == fmt::format("thread.{}", "xyz"[axis])) bound.extent += more;
    return kernels;
  };
  const auto shift = [](std::size_t operand, std::size_t from_last) {
    return [=](loops::CoreCall& call) {
      auto& indices = call.operands[operand].indices;
      loops::Expr& index = indices[indices.size() - 1 - from_last];
      index = index + 1;
    };
  };
  const std::vector<std::pair<const char*, loops::ThreadProgram>> faults{
      {"no barrier", dovetail::test::without_barrier(one.scheduled.kernels, 0)},
      {"A, the next row", calls(shift(1, 1))},
      {"A, the next of the depth", calls(shift(1, 0))},
      {"B, the next column", calls(shift(2, 1))},
      {"A, another place of the ring", calls(shift(1, 2))},
      {"both halves of A's rows are one", calls([](loops::CoreCall& c) { c.operands[1].steps[0].assign(3, 0); })},
      {"pairs of B's columns are one", calls([](loops::CoreCall& c) { c.operands[2].steps[1].assign(3, 0); })},
      {"both halves of the sums are one",
       calls([](loops::CoreCall& c) { c.operands[0].steps[0].assign(c.operands[0].indices.size(), 0); })},
      {"A and B exchanged", calls([](loops::CoreCall& c) { std::swap(c.operands[1].buffer, c.operands[2].buffer); })},
      {"sums of other lanes", maps([](loops::LaneMap& map) { std::swap(map.lanes[0], map.lanes[1]); })},
      {"a lane's rows and columns turned",
       maps([](loops::LaneMap& map) { map.lanes[0].extent = 4, map.lanes[1].extent = 8; })},
      {"a warp too few", threads(2, -1)},
      {"a warp too many", threads(2, 1)},
      {"a lane's column too few", threads(0, -1)},
      {"a lane's row too few", threads(1, -1)}};
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    CHECK(!is_found(one.scheduled.kernels, seed));
    for (const auto& [what, kernels] : faults) {
      INFO(what << ", seed " << seed);
      CHECK(is_found(kernels, seed));
    }
  }
  // A call that not all lanes take part in.
  loops::ThreadProgram kernels = one.scheduled.kernels;
  const auto& axes = kernels.kernels[0].axes;
  const loops::Expr some = loops::binary(loops::BinaryOp::lt, loops::ref(axes.back().var), loops::int_imm(1));
  kernels.kernels[0].body = dovetail::test::changed(kernels.kernels[0].body, [&](const loops::Core& core) {
    return core && std::holds_alternative<loops::CoreCall>(core->node) ? loops::core_if(some, core) : core;
  });
  CHECK(is_found(kernels, 1));
}

TEST_CASE("cuda: faults planted in the text of fragments are found by the emulated GPU") {
  std::vector<Case> cases{pipelined_case(DType::int8), pipelined_case(DType::float16)};
  for (std::size_t of = 0; of < cases.size(); ++of) {
    const Case& one = cases[of];
    REQUIRE(one.scheduled.kind == kKind);
    const std::string mma = of == 0 ? "mma_int8(" : "mma_float16(";
    const std::vector<TextFault> faults{
        {"two sums of a lane exchanged", exchanged(mma, 0, 1)},
        {"sums of two halves exchanged", exchanged(mma, 1, 2)},
        {"two registers of A exchanged", exchanged(mma, 5, 6)},
        {"registers of A's rows exchanged", exchanged(mma, 4, 5)},
        {"registers of B exchanged", exchanged(mma, 8, 9)},
        {"no barrier", replaced("__syncthreads();", "")},
        {"no wait", replaced("wait_for_copies<1>();", "")},
        {"a wait for one group too few", replaced("wait_for_copies<1>()", "wait_for_copies<2>()")},
        {"later pieces not committed", replaced("    commit_copies();", "")},
        {"matrices are turned", replaced("load_matrices<false>(", "load_matrices<true>(")},
        {"rows of other matrices", replaced(", after);", " + 16, after);")},
        {"the lane's row for its column", replaced("= threadIdx.y;", "= (threadIdx.y + 1) % 8;")}};
    check_text_faults(one, faults);
  }
}
