// Every operation of a kernel is rounded separately, whatever was fused: a product of one node and the sum of another
// must not become a fused multiply-add. Values that cancel, overflow, underflow or are masked show it. On every target,
// processor class and number of threads, compared with the reference.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/processor.h"
#include "compiler/graph/parse.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/product_sum.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/property/compiler/random_int8_graph.h"
#include "tests/targets.h"

using namespace dovetail;

namespace {

using Values = std::map<std::string, NdArray>;

std::vector<std::string> classes() {
  std::vector<std::string> names{"interpreter"};
  for (const cpu::Cpu& processor : cpu::cpus())
    if (runs_here(processor.name)) names.push_back(processor.name);
  return names;
}

Values run(const graph::Graph& graph, const Values& inputs, const std::string& processor, passes::Level level,
           int threads) {
  CompileOptions options;
  options.available = test::kit_targets({}, processor);
  options.targets = {"cpu"};
  options.context.level = level;
  const auto compiled = compile({graph, {}}, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  auto executor = runtime::Executor::make(compiled->bundle, *runtime::simulator_factory("functional"), {threads});
  REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
  const auto result = executor->run(inputs);
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  return result->outputs;
}

graph::Graph parsed(const std::string& text) {
  test::Draw draw(7);
  auto graph = graph::parse(text, "test", [&](std::string_view, const graph::TensorType& type) {
    NdArray array(type.dtype, type.shape);
    for (std::int64_t i = 0; i < array.count(); ++i)
      array.set_double(i, static_cast<double>(draw.between(-1000, 1000)) / 777);
    return array;
  });
  REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
  return *std::move(graph);
}

// NaN equals NaN; zeros of either sign are equal, since a minimum or maximum may yield either.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The result is within `tolerance` of the reference on every class; 0 means the same bits.
void hold(const graph::Graph& graph, const Values& inputs, passes::Level level, double tolerance,
          std::initializer_list<int> threads = {1}) {
  const auto reference = Reference::make(graph);
  REQUIRE(reference.ok());
  const auto expected = reference->run(inputs);
  REQUIRE(expected.ok());
  for (const std::string& processor : classes())
    for (const int count : threads) {
      const Values actual = run(graph, inputs, processor, level, count);
      for (const graph::ValueId id : graph.outputs) {
        const std::string& name = graph.value(id).name;
        const NdArray &expected_array = expected->at(name), &actual_array = actual.at(name);
        REQUIRE(expected_array.shape() == actual_array.shape());
        for (std::int64_t i = 0; i < expected_array.count(); ++i) {
          const double a = expected_array.as_double(i), b = actual_array.as_double(i);
          if (!same(a, b) && !(std::abs(a - b) <= tolerance * std::abs(a)))
            FAIL(name << " differs at " << i << ": " << b << ", expected " << a << " (" << processor << ", "
                      << static_cast<int>(level) << ", " << count << " threads)\n"
                      << to_string(graph));
        }
      }
    }
}

constexpr float kMost = std::numeric_limits<float>::max(), kLeast = std::numeric_limits<float>::denorm_min(),
                kInfinity = std::numeric_limits<float>::infinity();

// Ordinary numbers, mixed with infinities, zeros, and the ends of the type.
NdArray evil(const Shape& shape, std::uint64_t seed) {
  static const std::vector<float> kEvil{0.0F,   -0.0F,    kInfinity, -kInfinity, kMost,       -kMost,
                                        kLeast, -kLeast,  1e30F,     1e-30F,     16777216.0F, 1e6F,
                                        -1e6F,  1.0F / 3, 0.1F,      NAN,        3e38F,       -3e38F};
  test::Draw draw(seed);
  NdArray array(DType::float32, shape);
  for (auto& value : array.data<float>())
    value = draw.between(0, 2) == 0
                ? kEvil[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(kEvil.size()) - 1))]
                : static_cast<float>(draw.between(-1000000, 1000000)) / 333333.0F;
  return array;
}
NdArray full(const Shape& shape, float value) {
  NdArray array(DType::float32, shape);
  for (auto& element : array.data<float>()) element = value;
  return array;
}
constexpr passes::Level kLevels[] = {passes::Level::needed, passes::Level::exact, passes::Level::tolerant};

}  // namespace

TEST_CASE("softmax over a fully masked row, and over logits of a million, is that of the definition") {
  const graph::Graph graph = parsed(R"(graph g(%x: float32[3, 4], %s: float32[]) -> (%y)
  %m: float32[3, 4] = Mul(%x, %s)
  %y: float32[3, 4] = Softmax(%m)
)");
  NdArray x = full({3, 4}, -kMost);
  for (std::int64_t i = 4; i < 12; ++i) x.set_double(i, 1e6 + static_cast<double>(i) * 7.3);
  for (const passes::Level level : kLevels)
    for (const float scale : {0.125F, 0.1F, 0.35355338F}) {
      hold(graph, {{"x", x}, {"s", NdArray::scalar(scale)}}, level, 2e-6);
      const Values result = run(graph, {{"x", x}, {"s", NdArray::scalar(scale)}}, "native", level, 1);
      for (std::int64_t i = 0; i < 4; ++i) CHECK(result.at("y").as_double(i) == 0.25);
    }
}

TEST_CASE("a difference of equal squares is 0, and so is its root") {
  const graph::Graph graph = parsed(R"(graph g(%a: float32[40], %b: float32[40]) -> (%y)
  %p: float32[40] = Mul(%a, %a)
  %q: float32[40] = Mul(%b, %b)
  %d: float32[40] = Sub(%p, %q)
  %y: float32[40] = Sqrt(%d)
)");
  NdArray a(DType::float32, {40});
  for (std::int64_t i = 0; i < 40; ++i) a.set_double(i, 1.0 / static_cast<double>(i + 3));
  for (const passes::Level level : kLevels) hold(graph, {{"a", a}, {"b", a}}, level, 0);
}

// Products with padding are skipped because they are zero, but with infinite weights they are not.
TEST_CASE("an infinite weight times a zero of the padding is NaN, as in the definition") {
  struct Case {
    Shape x, w;
    std::string attributes;
  };
  const std::vector<Case> cases{
      {{1, 16, 7, 7}, {16, 16, 3, 3}, "pads=[1, 1, 1, 1]"},            // would skip 18 % of its products
      {{1, 16, 7, 7}, {16, 1, 3, 3}, "pads=[1, 1, 1, 1], group=16"},   // depthwise
      {{1, 16, 9, 7}, {32, 8, 3, 3}, "pads=[1, 1, 1, 1], group=2"},    // grouped
      {{1, 16, 20}, {16, 16, 5}, "pads=[2, 2]"},                       // one-dimensional
      {{1, 16, 20}, {16, 1, 5}, "pads=[2, 2], group=16"},              // one-dimensional, depthwise
      {{1, 4, 5, 6, 7}, {16, 4, 3, 3, 3}, "pads=[1, 1, 1, 1, 1, 1]"},  // three-dimensional
      {{1, 16, 5, 6, 7}, {16, 1, 3, 3, 3}, "pads=[1, 1, 1, 1, 1, 1], group=16"}};
  for (const float special : {kInfinity, -kInfinity, static_cast<float>(NAN)})
    for (const Case& one : cases) {
      if (special != kInfinity && &one != &cases.front()) break;
      Shape y = one.x;
      y[1] = one.w[0];
      NdArray w(DType::float32, one.w);
      test::Draw draw(5);
      for (auto& value : w.data<float>()) value = static_cast<float>(draw.between(1, 9)) / 8.0F;
      // The first tap of channel 3, and the last tap of channel 7.
      const std::int64_t each = element_count(one.w) / one.w[0];
      std::int64_t taps = 1;
      for (std::size_t d = 2; d < one.w.size(); ++d) taps *= one.w[d];
      w.set_double(3 * each, special);
      w.set_double(7 * each + taps - 1, special);
      const std::string text = fmt::format(
          "graph g(%x: float32{}) -> (%y)\n  constant %w: float32{}\n  %y: float32{} = "
          "Conv(%x, %w) {{{}}}\n",
          to_string(one.x), to_string(one.w), to_string(y), one.attributes);
      const auto made = graph::parse(text, "test", [&](std::string_view, const graph::TensorType&) { return w; });
      REQUIRE((made.ok() ? "" : to_string(made.errors())) == "");
      CAPTURE(text, special);
      const NdArray image = full(one.x, 0.5F);
      hold(*made, {{"x", image}}, passes::Level::tolerant, 1e-5);
      const NdArray result = run(*made, {{"x", image}}, "native", passes::Level::tolerant, 1).at("y");
      std::int64_t pixels = 1;
      for (std::size_t d = 2; d < y.size(); ++d) pixels *= y[d];
      CHECK(std::isnan(result.as_double(3 * pixels)));
      CHECK(std::isfinite(result.as_double(4 * pixels)));
    }
}

TEST_CASE("products of one node are rounded before another node adds them, at every level, class and thread count") {
  const graph::Graph graph =
      parsed(R"(graph g(%a: float32[6, 50], %b: float32[6, 50], %c: float32[50]) -> (%t, %u, %v, %w, %z)
  constant %axis: int64[1] = [1]
  %p: float32[6, 50] = Mul(%a, %b)
  %t: float32[6, 50] = Add(%p, %c)
  %n: float32[6, 50] = Neg(%b)
  %r: float32[6, 50] = Mul(%n, %a)
  %u: float32[6, 50] = Sub(%c, %r)
  %q: float32[6, 50] = Mul(%b, %c)
  %k: float32[6, 50] = Mul(%a, %c)
  %v: float32[6, 50] = Sub(%q, %k)
  %o: float32[6, 50] = Mul(%a, %b)
  %w: float32[6, 1] = ReduceSum(%o, %axis)
  %e: float32[6, 50] = Div(%a, %b)
  %f: float32[6, 50] = Sub(%e, %c)
  %z: float32[6, 50] = Relu(%f)
)");
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (const passes::Level level : kLevels)
      hold(graph, {{"a", evil({6, 50}, seed)}, {"b", evil({6, 50}, 10 + seed)}, {"c", evil({50}, 20 + seed)}}, level, 0,
           {1, 3});
}

TEST_CASE("up to level 1 sums of products keep the bits of their definition on every class and thread count") {
  const graph::Graph graph = parsed(
      R"(graph g(%x: float32[1, 20, 9, 10], %a: float32[7, 33]) -> (%conv, %depth, %gemm, %wide, %mean, %squares, %norm)
  constant %w: float32[24, 20, 3, 3]
  constant %b: float32[24]
  constant %dw: float32[20, 1, 3, 3]
  constant %m: float32[33, 40]
  constant %n: float32[33, 33]
  constant %row: float32[40]
  constant %s: float32[33]
  constant %axis: int64[1] = [1]
  %c: float32[1, 24, 9, 10] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}
  %conv: float32[1, 24, 9, 10] = Relu(%c)
  %depth: float32[1, 20, 7, 8] = Conv(%x, %dw) {group=20}
  %p: float32[7, 40] = MatMul(%a, %m)
  %gemm: float32[7, 40] = Add(%p, %row)
  %wide: float32[7, 33] = Gemm(%a, %n, %s) {alpha=0.3, beta=0.7, transB=1}
  %mean: float32[7, 1] = ReduceMean(%a, %axis)
  %squares: float32[7, 1] = ReduceSumSquare(%a, %axis)
  %norm: float32[7, 33] = LayerNormalization(%a, %s, %s)
)");
  test::Draw draw(3);
  NdArray x(DType::float32, {1, 20, 9, 10}), a(DType::float32, {7, 33});
  for (NdArray* array : {&x, &a})
    for (auto& value : array->data<float>()) value = static_cast<float>(draw.between(-1000000, 1000000)) / 333333.0F;
  for (const passes::Level level : {passes::Level::needed, passes::Level::exact})
    hold(graph, {{"x", x}, {"a", a}}, level, 0, {1, 3});
}

TEST_CASE("machine code contracts only sums of products, and only where their rounding is free") {
  const auto code = [](const graph::Graph& graph, bool fixed) {
    loops::Program program = ops::define(graph, graph.topological_order().back()).value();
    if (fixed) program = loops::with_fixed_rounding(std::move(program));
    return cpu::kernel_ir(program, {}, "kernel", cpu::find_cpu("avx2").value()).value();
  };
  const graph::Graph product = parsed(R"(graph g(%a: float32[4, 8], %b: float32[8, 16]) -> (%y)
  %y: float32[4, 16] = MatMul(%a, %b)
)"),
                     elementwise = parsed(R"(graph g(%x: float32[4, 8], %s: float32[8], %t: float32[8]) -> (%y)
  %y: float32[4, 8] = LayerNormalization(%x, %s, %t)
)");
  CHECK(code(product, false).find("fadd reassoc contract") != std::string::npos);
  CHECK(code(product, true).find("contract") == std::string::npos);
  // Only the squares of the variance: scale and shift are rounded one after the other.
  CHECK(code(elementwise, false).find("fmul contract") != std::string::npos);
  CHECK(code(elementwise, true).find("contract") == std::string::npos);
}
