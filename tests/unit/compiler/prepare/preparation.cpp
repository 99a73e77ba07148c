// Zero points taken out of products of bytes: the remaining program and constants give the group's values; where they
// would not, nothing is changed.
#include "compiler/prepare/preparation.h"

#include <functional>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/graph/parse.h"
#include "compiler/schedule/nest.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

enum class Expect { changed, as_it_was };

NdArray drawn(const graph::TensorType& type, SplitMix64& random) {
  NdArray array(type.dtype, type.shape);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const auto value = static_cast<std::int64_t>(random.next());
    if (is_floating(type.dtype)) array.set_double(i, static_cast<double>(value % 100 + 101) / 1e5);
    else if (type.dtype == DType::int32) array.set_int64(i, static_cast<std::int32_t>(value));  // wraps around
    else array.set_int64(i, static_cast<std::int8_t>(value));
  }
  return array;
}

graph::Graph parsed(const std::string& text, SplitMix64& random) {
  auto graph = graph::parse(text, "test", [&](auto, const graph::TensorType& type) { return drawn(type, random); });
  if (!graph) FAIL(to_string(graph.errors()));
  return *std::move(graph);
}

// The one group of the graph.
std::vector<FusedGroup> groups_of(const graph::Graph& graph) {
  auto groups = fuse_groups(graph, graph.topological_order()).value();
  REQUIRE(groups.size() == 1);
  return groups;
}

std::vector<NdArray> arguments_of(const FusedGroup& group, const graph::Graph& graph, SplitMix64& random) {
  std::vector<NdArray> arguments;
  for (std::size_t i = 0; i < group.arguments.size(); ++i)
    arguments.push_back(group.constants[i] != nullptr ? *group.constants[i]
                                                      : drawn(graph.value(group.arguments[i]).type, random));
  return arguments;
}

std::vector<NdArray> changed(std::vector<NdArray> arguments, const prepare::Preparation& made) {
  for (const auto& [position, value] : made.constants) arguments[position] = value;
  return arguments;
}

void check(const std::string& text, const std::string& main, Expect expect) {
  SplitMix64 random(7);
  const graph::Graph graph = parsed(text, random);
  const auto groups = groups_of(graph);
  const FusedGroup& group = groups[0];
  const std::vector<NdArray> arguments = arguments_of(group, graph, random);
  const auto expected = loops::evaluate(group.program, arguments).value();
  for (const bool shifted : {false, true}) {
    prepare::Preparation made(group, {"test", "any", group.program});
    shifted ? made.shift_activations(main) : made.drop_zero_point(main);
    INFO(text << loops::to_string(made.task.program));
    CHECK(made.task.prepared.size() == (expect == Expect::changed ? 1 : 0));
    CHECK(made.constants.size() == (expect == Expect::changed ? 1 : 0));
    const auto have = loops::evaluate(made.task.program, changed(arguments, made));
    if (!have) FAIL(to_string(have.errors()));
    CHECK(*have == expected);
  }
}

}  // namespace

TEST_CASE("prepare: a zero point goes into the bias of convolutions, padded and in groups") {
  for (const int groups : {1, 2, 4})
    check(fmt::format(R"(graph g(%x: int8[1, 4, 5, 6]) -> (%y)
  constant %w: int8[8, {}, 3, 3]
  constant %b: int32[8]
  constant %s: float32[8]
  %y: int8[1, 8, 5, 6] = dovetail.qconv(%x, %w, %b, %s) {{pads=[1, 1, 1, 1], group={}, x_zero_point=-7, y_zero_point=-5}}
)",
                      4 / groups, groups),
          "conv", Expect::changed);
}

TEST_CASE("prepare: a zero point goes into the bias of matrix products, for either storage order of the weights") {
  check(R"(graph g(%x: int8[3, 6]) -> (%y)
  constant %w: int8[6, 6]
  constant %b: int32[6]
  constant %s: float32[6]
  %y: int8[3, 6] = dovetail.qgemm(%x, %w, %b, %s) {x_zero_point=19}
)",
        "gemm", Expect::changed);
}

TEST_CASE("prepare: weights whose columns are the outputs are summed by columns, square ones too") {
  const std::string text = R"(graph g(%x: int8[3, 6]) -> (%y)
  constant %w: int8[6, 6]
  constant %b: int32[6]
  %s: int32[3, 6] = MatMulInteger(%x, %w)
  %y: int32[3, 6] = Add(%s, %b)
)";
  SplitMix64 random(7);
  const graph::Graph graph = parsed(text, random);
  const auto groups = groups_of(graph);
  const std::vector<NdArray> arguments = arguments_of(groups[0], graph, random);
  prepare::Preparation made(groups[0], {"test", "any", groups[0].program});
  const auto blocks = loops::to_string(groups[0].program);
  INFO(blocks);
  made.shift_activations("gemm");
  REQUIRE(made.constants.size() == 1);
  CHECK(loops::evaluate(made.task.program, changed(arguments, made)).value() ==
        loops::evaluate(groups[0].program, arguments).value());
}

TEST_CASE("prepare: a zero point stays where taking it out would change a result") {
  // Weights minus their own zero point.
  check(R"(graph g(%x: int8[3, 6]) -> (%y)
  constant %w: int8[4, 6]
  constant %b: int32[4]
  constant %s: float32[4]
  constant %z: int8[4]
  %y: int8[3, 4] = dovetail.qgemm(%x, %w, %b, %s, %z) {x_zero_point=19}
)",
        "gemm", Expect::as_it_was);
  // A bias that is not a constant.
  check(R"(graph g(%x: int8[3, 6], %b: int32[4]) -> (%y)
  constant %w: int8[4, 6]
  constant %s: float32[4]
  %y: int8[3, 4] = dovetail.qgemm(%x, %w, %b, %s) {x_zero_point=19}
)",
        "gemm", Expect::as_it_was);
}

TEST_CASE("prepare: sums that are read without their bias, or together with another one, keep their zero point") {
  const auto text = [](const char* end) {
    return fmt::format(R"(program p {{
  input x: int8[3, 6]
  constant w: int8[6, 6]
  constant b: int32[6]
  output y: int32[3, 6]
  alloc s: int32[3, 6]
  for i0 in 3 {{ for j0 in 6 {{ for k0 in 6 {{ block gemm {{
    spatial i in 3 = i0 spatial j in 6 = j0 reduce k in 6 = k0
    reads s[i, j], x[i, k], w[j, k] writes s[i, j]
    init {{ s[i, j] = 0 }}
    s[i, j] = s[i, j] + (int32(x[i, k]) - 5) * int32(w[j, k])
  }} }} }} }}
  for i1 in 3 {{ for j1 in 6 {{ block end {{
    spatial i in 3 = i1 spatial j in 6 = j1 reads s[i, j], b[j] writes y[i, j]
    y[i, j] = {}
  }} }} }}
}})",
                       end);
  };
  const auto taken = [&](const char* end) {
    FusedGroup group;
    group.program = loops::parse_program(text(end), "p").value();
    SplitMix64 random(3);
    const NdArray w = drawn({DType::int8, {6, 6}}, random), b = drawn({DType::int32, {6}}, random);
    group.arguments = {graph::ValueId{0}, graph::ValueId{1}, graph::ValueId{2}};
    group.constants = {nullptr, &w, &b};
    prepare::Preparation made(group, {"test", "any", group.program});
    made.drop_zero_point("gemm");
    return !made.task.prepared.empty();
  };
  CHECK(taken("s[i, j] + b[j]"));
  CHECK(taken("max(s[i, j] + b[j], 3)"));
  CHECK_FALSE(taken("(s[i, j] + b[j]) * s[i, j]"));
  CHECK_FALSE(taken("(s[i, j] + b[j]) * b[j]"));
  CHECK_FALSE(taken("s[i, j] + b[i]"));
  CHECK_FALSE(taken("s[i, j] * b[j]"));
}

TEST_CASE("prepare: constant bytes of products are stored with the depth last, also in batches, with the same values") {
  const auto laid_out = [](const std::string& text) -> std::string {
    SplitMix64 random(7);
    const graph::Graph graph = parsed(text, random);
    const auto groups = groups_of(graph);
    const FusedGroup& group = groups[0];
    const std::vector<NdArray> arguments = arguments_of(group, graph, random);
    prepare::Preparation made(group, {"test", "any", group.program});
    const std::string main = *schedule::block_names(group.program.body).begin();
    for (int time = 0; time < 2; ++time) made.put_depth_last(main, DType::int8);  // the second call changes nothing
    INFO(text << loops::to_string(made.task.program));
    REQUIRE(made.task.prepared.size() == made.constants.size());
    CHECK(loops::evaluate(made.task.program, changed(arguments, made)).value() ==
          loops::evaluate(group.program, arguments).value());
    return made.task.prepared.empty() ? "" : made.task.prepared.front();
  };
  CHECK(laid_out(R"(graph g(%x: int8[3, 6]) -> (%y)
  constant %w: int8[6, 5]
  %y: int32[3, 5] = MatMulInteger(%x, %w)
)") == "put_depth_last gemm in1 i1,i0");
  CHECK(laid_out(R"(graph g(%x: int8[2, 3, 6]) -> (%y)
  constant %w: int8[2, 6, 6]
  %y: int32[2, 3, 6] = MatMulInteger(%x, %w)
)") == "put_depth_last gemm in1 i0,i2,i1");
  // The left operand of a product, and a layer's weights, are stored with the depth last.
  CHECK(laid_out(R"(graph g(%x: int8[6, 5]) -> (%y)
  constant %w: int8[3, 6]
  %y: int32[3, 5] = MatMulInteger(%w, %x)
)")
            .empty());
  CHECK(laid_out(R"(graph g(%x: int8[3, 6]) -> (%y)
  constant %w: int8[5, 6]
  constant %b: int32[5]
  constant %s: float32[5]
  %y: int8[3, 5] = dovetail.qgemm(%x, %w, %b, %s) {x_zero_point=3}
)")
            .empty());
  // Operands that are not constant, and wider types, are not changed.
  CHECK(laid_out(R"(graph g(%x: int8[3, 6], %w: int8[6, 5]) -> (%y)
  %y: int32[3, 5] = MatMulInteger(%x, %w)
)")
            .empty());
  CHECK(laid_out(R"(graph g(%x: float32[3, 6]) -> (%y)
  constant %w: float32[6, 5]
  %y: float32[3, 5] = MatMul(%x, %w)
)")
            .empty());
}
