// Factors of products in TF32: the rounding is that of PTX's cvt.rna, in the program and of constants; only what the
// product reads is rounded, once.
#include "compiler/prepare/round_factors.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "compiler/graph/parse.h"
#include "compiler/prepare/preparation.h"
#include "compiler/schedule/caching.h"
#include "loops/interpreter.h"
#include "loops/print.h"
#include "tests/catch.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

NdArray drawn_fractions(const graph::TensorType& type, SplitMix64& random) {
  NdArray array(type.dtype, type.shape);
  for (std::int64_t i = 0; i < array.count(); ++i)
    array.set_double(i, static_cast<double>(static_cast<std::int64_t>(random.next() % 2001) - 1000) / 999);
  return array;
}

// The prepared group of the graph, with the values of the task's program and of the original.
struct RoundedGroup {
  loops::Program program;
  std::vector<std::string> steps;
  std::size_t constants;
  NdArray have, exact;
};
RoundedGroup rounded_group(const std::string& text, bool variables) {
  SplitMix64 random(3);
  const auto graph =
      graph::parse(text, "test", [&](auto, const graph::TensorType& type) { return drawn_fractions(type, random); });
  if (!graph) FAIL(to_string(graph.errors()));
  const auto groups = fuse_groups(*graph, graph->topological_order()).value();
  REQUIRE(groups.size() == 1);
  const FusedGroup& group = groups[0];
  std::vector<NdArray> arguments;
  for (std::size_t i = 0; i < group.arguments.size(); ++i)
    arguments.push_back(group.constants[i] != nullptr ? *group.constants[i]
                                                      : drawn_fractions(graph->value(group.arguments[i]).type, random));
  const NdArray exact = loops::evaluate(group.program, arguments).value()[0];
  prepare::Preparation made(group, {"test", "any", group.program});
  for (int time = 0; time < 2; ++time) made.round_factors("gemm", variables);  // the second call changes nothing
  for (const auto& [position, constant] : made.constants) arguments[position] = constant;
  const auto have = loops::evaluate(made.task.program, arguments);
  if (!have) FAIL(to_string(have.errors()) << loops::to_string(made.task.program));
  return {made.task.program, made.task.prepared, made.constants.size(), (*have)[0], exact};
}
bool is_rounded_closely(const RoundedGroup& one) {
  bool other = false;
  for (std::int64_t i = 0; i < one.exact.count(); ++i) {
    const double error = std::abs(one.have.as_double(i) - one.exact.as_double(i));
    other |= error > 0;
    if (error > 6 * 0x1p-10) return false;
  }
  return other;
}

}  // namespace

TEST_CASE("prepare: float32 is rounded to the nearest TF32 number, ties away from zero") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<float, float>> numbers{{1.0F, 1.0F},
                                                     {0x1.002p0F, 0x1.004p0F},      // a tie
                                                     {-0x1.002p0F, -0x1.004p0F},    // away from zero
                                                     {0x1.001ffep0F, 0x1.0p0F},     // just below
                                                     {0x1.fffp0F, 0x1p1F},          // carries into the exponent
                                                     {0x1.fffffep127F, kInfinity},  // too large
                                                     {kInfinity, kInfinity},
                                                     {-kInfinity, -kInfinity},
                                                     {0.0F, 0.0F},
                                                     {-0.0F, -0.0F},
                                                     {0x1p-149F, 0.0F},
                                                     {-0x1p-126F, -0x1p-126F}};
  const auto count = static_cast<std::int64_t>(numbers.size()) + 2;
  NdArray values(DType::float32, {count});
  for (std::size_t i = 0; i < numbers.size(); ++i) values.data<float>()[i] = numbers[i].first;
  // NaN whose places below TF32's are all that is set, and all of whose places are.
  values.data<float>()[numbers.size()] = std::bit_cast<float>(0x7f800001U);
  values.data<float>()[numbers.size() + 1] = std::bit_cast<float>(0x7fffffffU);

  const loops::Buffer x = loops::make_buffer("x", DType::float32, {count}),
                      y = loops::make_buffer("y", DType::float32, {count});
  const loops::Var i = loops::make_var("i");
  loops::Program program{"round", {{x, loops::ParameterRole::input}, {y, loops::ParameterRole::output}}, {}, nullptr};
  program.body = schedule::compute_nest("round", {{i, count, loops::IterKind::spatial, nullptr}}, y, {loops::ref(i)},
                                        prepare::rounded_to_tf32(loops::load(x, {loops::ref(i)})));
  const std::vector<NdArray> arguments{values};
  const NdArray computed = loops::evaluate(program, arguments).value()[0], ahead = prepare::rounded_to_tf32(values);
  for (const NdArray* const rounded : {&computed, &ahead}) {
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      INFO("number " << n);
      CHECK(std::bit_cast<std::uint32_t>(rounded->data<float>()[n]) == std::bit_cast<std::uint32_t>(numbers[n].second));
    }
    // A unit that ignores the lower places still reads NaN.
    for (std::size_t n = numbers.size(); n < numbers.size() + 2; ++n)
      CHECK(std::isnan(std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded->data<float>()[n]) & 0xffffe000U)));
  }
}

TEST_CASE("prepare: constant factors are rounded ahead of time, others by a block before the product") {
  constexpr const char* kWeights = R"(graph g(%x: float32[3, 6]) -> (%y)
  constant %w: float32[6, 5]
  %y: float32[3, 5] = MatMul(%x, %w)
)";
  const RoundedGroup both = rounded_group(kWeights, true), constants = rounded_group(kWeights, false);
  CHECK(both.steps == std::vector<std::string>{"round_factors gemm in0.prepared", "round_factors gemm in1"});
  CHECK(both.constants == 1);
  CHECK(is_rounded_closely(both));
  CHECK_THAT(loops::to_string(both.program), ContainsSubstring("block in0.prepared"));
  CHECK(constants.steps == std::vector<std::string>{"round_factors gemm in1"});
  CHECK(constants.constants == 1);
  CHECK(is_rounded_closely(constants));
  CHECK_THAT(loops::to_string(constants.program), !ContainsSubstring(".prepared"));
}

TEST_CASE("prepare: a factor that another operator reads too is not changed for it") {
  const RoundedGroup both = rounded_group(R"(graph g(%x: float32[6, 6]) -> (%z)
  %y: float32[6, 6] = MatMul(%x, %x)
  %z: float32[6, 6] = Add(%y, %x)
)",
                                          true);
  CHECK(both.steps == std::vector<std::string>{"round_factors gemm in0.prepared", "round_factors gemm in1.prepared"});
  CHECK(is_rounded_closely(both));
  // With a product of zeros, what remains is the exact operand: it would differ if the sum read rounded numbers.
  const std::string text = loops::to_string(both.program);
  CHECK_THAT(text, ContainsSubstring("+ in0["));
}

TEST_CASE("prepare: the block that rounds stores its results with the depth last") {
  const RoundedGroup both = rounded_group(R"(graph g(%x: float32[3, 6], %w: float32[6, 5]) -> (%y)
  %y: float32[3, 5] = MatMul(%x, %w)
)",
                                          true);
  CHECK(is_rounded_closely(both));
  CHECK_THAT(loops::to_string(both.program), ContainsSubstring("alloc in0.prepared: float32[3, 6]") &&
                                                 ContainsSubstring("alloc in1.prepared: float32[5, 6]"));
}

TEST_CASE("prepare: products of other types are not rounded") {
  const RoundedGroup none = rounded_group(R"(graph g(%x: float16[3, 6], %w: float16[6, 5]) -> (%y)
  %y: float16[3, 5] = MatMul(%x, %w)
)",
                                          true);
  CHECK(none.steps.empty());
  CHECK(none.have == none.exact);
}
