// Each integer form compared with the float evaluation of the same QDQ pattern, on random scales, zero points and
// values: the difference is at most one step, and rarely that.
#include <cmath>
#include <functional>
#include <random>

#include <fmt/format.h>

#include "compiler/passes/list.h"
#include "compiler/reference/reference.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {
namespace {

using graph::ValueId;
using Ints = std::vector<std::int64_t>;

struct Pattern;
// Builds a float value from quantized ones.
using Build = std::function<ValueId(Pattern&)>;

struct Pattern {
  test::GraphMaker make;
  std::mt19937 rng;
  std::map<std::string, NdArray> inputs;

  explicit Pattern(unsigned seed) : rng(seed) {}

  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); }
  float real(float low, float high) { return std::uniform_real_distribution<float>(low, high)(rng); }
  NdArray steps(const Shape& shape, DType dtype = DType::int8) {
    NdArray array(dtype, shape);
    for (std::int64_t i = 0; i < array.count(); ++i)
      array.set_int64(i, dtype == DType::uint8 ? whole(0, 255) : whole(-128, 127));
    return array;
  }
  NdArray reals(const Shape& shape, float low, float high) {
    NdArray array(DType::float32, shape);
    for (float& value : array.data<float>()) value = real(low, high);
    return array;
  }
  // A quantized input: int8 or uint8, reals within about ±`reach`.
  ValueId x(const std::string& name, const Shape& shape, float reach = 4) {
    const bool bytes = whole(0, 3) == 0;
    const DType dtype = bytes ? DType::uint8 : DType::int8;
    inputs[name] = steps(shape, dtype);
    return make.dequantize(name + "_dq", make.input(name, dtype, shape), reach / 128 * real(0.6f, 1.2f),
                           bytes ? whole(64, 192) : whole(-64, 64));
  }
  ValueId weight(const std::string& name, const Shape& shape) {
    return make.dequantize(name + "_dq", make.constant(name, steps(shape)), real(0.002f, 0.02f),
                           whole(0, 1) * whole(-20, 20));
  }
  ValueId constant(const std::string& name, NdArray array) { return make.constant(name, std::move(array)); }
  // A constant, or an input.
  ValueId mask(const Shape& shape) {
    NdArray array(DType::boolean, shape);
    for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, whole(0, 1));
    if (whole(0, 1) == 0) return make.constant("mask", std::move(array));
    return inputs["mask"] = std::move(array), make.input("mask", DType::boolean, shape);
  }
  ValueId number(const std::string& name, float value) { return make.constant(name, NdArray::scalar(value)); }
  ValueId list(const std::string& name, const Ints& values) {
    return make.constant(name, NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  ValueId f(const std::string& op, std::vector<ValueId> operands, graph::Attributes attributes = {}) {
    return make.node(op, op + std::to_string(++nodes), std::move(operands), std::move(attributes));
  }

 private:
  int nodes = 0;
};

struct Row {
  const char* name;
  const char* form;  // an operator that the integer graph must contain
  float reach;       // range of the result, which determines its scale
  Build build;
};

Build unary(const char* op, float reach = 4, graph::Attributes attributes = {}) {
  return [=](Pattern& p) { return p.f(op, {p.x("x", {2, 3, 40}, reach)}, attributes); };
}
Build by_constant(const char* op, float low, float high) {
  return [=](Pattern& p) { return p.f(op, {p.x("x", {2, 300}), p.number("c", p.real(low, high))}); };
}

const std::vector<Row>& rows() {
  const char *table = "dovetail.qtable", *conv = "dovetail.qconv";
  static const std::vector<Row> all{
      {"Sigmoid", table, 1, unary("Sigmoid")},
      {"Tanh", table, 1, unary("Tanh")},
      {"HardSwish", table, 4, unary("HardSwish")},
      {"HardSigmoid", table, 1, unary("HardSigmoid", 4, {{"alpha", 0.1666667}, {"beta", 0.5}})},
      {"LeakyRelu", table, 4, unary("LeakyRelu", 4, {{"alpha", 0.1}})},
      {"Elu", table, 4, unary("Elu")},
      {"Gelu", table, 4, unary("Gelu")},
      {"Exp", table, 50, unary("Exp")},
      {"Abs", table, 3, unary("Abs")},
      {"Neg", table, 5, unary("Neg")},
      {"Softplus", table, 4, unary("Softplus")},
      {"Erf", table, 1, unary("Erf")},
      {"Sqrt of Abs", table, 2, [](Pattern& p) { return p.f("Sqrt", {p.f("Abs", {p.x("x", {500})})}); }},
      {"Add of a number", table, 5, by_constant("Add", -2, 2)},
      {"Sub from a number", table, 5,
       [](Pattern& p) {
         return p.f("Sub", {p.number("c", p.real(-2, 2)), p.x("x", {500})});
       }},
      {"Mul by a number", table, 5, by_constant("Mul", -2, -0.5f)},
      {"Div by a number", table, 5, by_constant("Div", 0.5f, 2)},
      {"Pow", table, 16, by_constant("Pow", 2, 2)},
      {"Swish written out", table, 4,
       [](Pattern& p) {
         const ValueId x = p.x("x", {500});
         return p.f("Mul", {x, p.f("Sigmoid", {x})});
       }},
      {"Relu of other steps after a function", table, 1,
       [](Pattern& p) { return p.f("Relu", {p.f("Tanh", {p.x("x", {500})})}); }},
      {"PRelu per channel", table, 4,
       [](Pattern& p) {
         return p.f("PRelu", {p.x("x", {2, 5, 8, 8}), p.constant("slope", p.reals({5, 1, 1}, -0.5f, 0.5f))});
       }},
      {"Mul per channel", table, 4,
       [](Pattern& p) {
         return p.f("Mul", {p.x("x", {2, 5, 8, 8}), p.constant("c", p.reals({1, 5, 1, 1}, -1, 1))});
       }},
      {"Add per row", table, 4,
       [](Pattern& p) {
         return p.f("Add", {p.x("x", {7, 30}), p.constant("c", p.reals({7, 1}, -1, 1))});
       }},
      {"BatchNormalization", table, 6,
       [](Pattern& p) {
         const ValueId x = p.x("x", {2, 5, 8, 8});
         return p.f("BatchNormalization",
                    {x, p.constant("s", p.reals({5}, -1, 1)), p.constant("b", p.reals({5}, -1, 1)),
                     p.constant("m", p.reals({5}, -1, 1)), p.constant("v", p.reals({5}, 0.5f, 2))});
       }},
      {"Mul of two", "dovetail.qmul", 16,
       [](Pattern& p) {
         return p.f("Mul", {p.x("a", {3, 4, 40}), p.x("b", {3, 4, 40})});
       }},
      {"Mul by a gate", "dovetail.qmul", 4,
       [](Pattern& p) {
         return p.f("Relu", {p.f("Mul", {p.x("g", {2, 6, 1, 1}, 1), p.x("a", {2, 6, 7, 7})})});
       }},
      {"Mul by a number in an image", conv, 5,
       [](Pattern& p) {
         return p.f("Mul", {p.x("x", {1, 3, 9, 9}), p.number("c", p.real(0.5f, 2))});
       }},
      {"Add of two", "dovetail.qadd", 8,
       [](Pattern& p) {
         return p.f("Add", {p.x("a", {3, 200}), p.x("b", {3, 200}, 2)});
       }},
      {"Max of unequal scales", "Max", 4,
       [](Pattern& p) {
         return p.f("Max", {p.x("a", {300}), p.x("b", {300}, 2)});
       }},
      {"Min with a number", "Min", 4,
       [](Pattern& p) {
         return p.f("Min", {p.x("a", {300}), p.x("b", {300}, 2), p.number("c", 1.2f)});
       }},
      {"Where", "Where", 4,
       [](Pattern& p) {
         return p.f("Where", {p.mask({20, 20}), p.x("a", {2, 20, 20}), p.x("b", {2, 20, 20}, 2)});
       }},
      {"Concat of unequal scales", "Concat", 4,
       [](Pattern& p) {
         return p.f("Concat", {p.x("a", {1, 3, 50}), p.x("b", {1, 5, 50}, 2)}, {{"axis", std::int64_t{1}}});
       }},
      {"TensorScatter of unequal scales", "TensorScatter", 4,
       [](Pattern& p) {
         return p.f("TensorScatter", {p.x("x", {1, 3, 50, 7}), p.x("rows", {1, 3, 2, 7}, 2), p.list("at", {41})},
                    {{"axis", std::int64_t{2}}});
       }},
      {"Pad with a number", "Pad", 4,
       [](Pattern& p) {
         return p.f("Pad", {p.x("x", {4, 40}), p.list("pads", {1, 2, 3, 0}), p.number("v", 0.77f)});
       }},
      {"ReduceMean of an image", conv, 1,
       [](Pattern& p) {
         return p.f("ReduceMean", {p.x("x", {2, 30, 5, 5}), p.list("axes", {2, 3})}, {{"keepdims", std::int64_t{0}}});
       }},
      {"ReduceMean along rows", conv, 1,
       [](Pattern& p) {
         return p.f("ReduceMean", {p.x("x", {3, 9, 20}), p.list("axes", {1})});
       }},
      {"ReduceSum of the last axis", conv, 30,
       [](Pattern& p) {
         return p.f("ReduceSum", {p.x("x", {40, 30}), p.list("axes", {-1})});
       }},
      {"Softmax", "dovetail.qsoftmax", 1,
       [](Pattern& p) {
         return p.f("Softmax", {p.x("x", {6, 70}, 6)});
       }},
      {"Softmax of columns", "dovetail.qsoftmax", 1,
       [](Pattern& p) {
         return p.f("Softmax", {p.x("x", {3, 9, 20}, 8)}, {{"axis", std::int64_t{1}}});
       }},
      {"Softmax of visible scores", "dovetail.qsoftmax", 1,
       [](Pattern& p) {
         const bool hidden = p.whole(0, 1) == 0;
         const ValueId x = p.x("x", {2, 3, 20, 30}, 6), low = p.number("low", -1e9f), mask = p.mask({20, 30});
         return p.f("Softmax", {p.f("Where", {mask, hidden ? low : x, hidden ? x : low})});
       }},
      {"Softmax of scores and a constant mask", "dovetail.qsoftmax", 1,
       [](Pattern& p) {
         NdArray mask(DType::float32, {2, 1, 1, 30});
         for (float& value : mask.data<float>()) value = p.whole(0, 2) == 0 ? -10000.0f : 0.0f;
         for (std::int64_t row = 0; row < 2; ++row) mask.set_double(row * 30, 0);  // something is visible
         return p.f("Softmax", {p.f("Add", {p.x("x", {2, 3, 20, 30}, 6), p.constant("mask", std::move(mask))})});
       }},
      {"LayerNormalization", "dovetail.qnormalize", 5,
       [](Pattern& p) {
         return p.f("LayerNormalization",
                    {p.x("x", {9, 96}), p.constant("g", p.reals({96}, -2, 2)), p.constant("b", p.reals({96}, -1, 1))});
       }},
      {"LayerNormalization of two axes, quantized constants", "dovetail.qnormalize", 5,
       [](Pattern& p) {
         return p.f("LayerNormalization", {p.x("x", {5, 6, 20}), p.weight("g", {6, 20})}, {{"axis", std::int64_t{1}}});
       }},
      {"RMSNormalization", "dovetail.qnormalize", 5,
       [](Pattern& p) {
         return p.f("RMSNormalization", {p.x("x", {9, 64}), p.constant("g", p.reals({64}, 0.5f, 2))});
       }},
      {"MatMul of two", "dovetail.qmatmul", 30,
       [](Pattern& p) {
         return p.f("MatMul", {p.x("a", {2, 3, 9, 20}), p.x("b", {2, 1, 20, 7})});
       }},
      {"Gemm with alpha", "dovetail.qgemm", 10,
       [](Pattern& p) {
         return p.f("Gemm", {p.x("x", {7, 20}), p.weight("w", {20, 30}), p.constant("c", p.reals({30}, -1, 1))},
                    {{"alpha", 0.7}});
       }},
      {"ConvTranspose, every other tap missing", conv, 4,
       [](Pattern& p) {
         return p.f("ConvTranspose",
                    {p.x("x", {1, 4, 5, 6}), p.weight("w", {4, 6, 3, 3}), p.constant("b", p.reals({6}, -1, 1))},
                    {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}});
       }},
      {"ConvTranspose, a scale for each output, Relu", conv, 4,
       [](Pattern& p) {
         const ValueId w =
             p.make.node("DequantizeLinear", "w_dq",
                         {p.constant("w", p.steps({4, 6, 2, 2})), p.constant("ws", p.reals({6}, 0.002f, 0.02f))},
                         {{"axis", std::int64_t{1}}});
         return p.f("Relu", {p.f("ConvTranspose", {p.x("x", {2, 4, 5, 6}), w}, {{"strides", Ints{2, 2}}})});
       }},
      {"Conv, asymmetric weights", conv, 4,
       [](Pattern& p) {
         return p.f("Conv", {p.x("x", {1, 4, 9, 9}), p.weight("w", {6, 4, 3, 3}), p.constant("b", p.reals({6}, -1, 1))},
                    {{"pads", Ints{1, 1, 1, 1}}});
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("integer forms are one step from the float QDQ pattern at most") {
  const Row& row = GENERATE(from_range(rows().begin(), rows().end()));
  std::int64_t different = 0, count = 0, widest = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    INFO(row.name << ", seed " << seed);
    Pattern p(seed);
    const ValueId real = row.build(p);
    const bool bytes = p.whole(0, 3) == 0;
    p.make.output(p.make.quantize("y", real, row.reach / 128 * p.real(0.7f, 1.3f),
                                  bytes ? p.whole(64, 192) : p.whole(-64, 64), bytes ? DType::uint8 : DType::int8));
    graph::Graph integer = p.make.graph;
    const auto lowered = passes::lower_qdq(integer);
    if (!lowered) FAIL(to_string(lowered.errors()));
    INFO(to_string(integer));
    CHECK(lowered->notes.empty());
    bool found = false;
    for (const graph::NodeId id : integer.live_nodes()) {
      found = found || integer.node(id).op == row.form;
      for (const ValueId output : integer.node(id).outputs) CHECK_FALSE(is_floating(integer.value(output).type.dtype));
    }
    CHECK(found);
    const auto run = [&](const graph::Graph& graph) {
      auto reference = Reference::make(graph);
      if (!reference) FAIL(to_string(reference.errors()));
      auto values = reference->run(p.inputs);
      if (!values) FAIL(to_string(values.errors()));
      return values->at("y");
    };
    const NdArray expected = run(p.make.graph), actual = run(integer);
    REQUIRE(actual.shape() == expected.shape());
    std::int64_t furthest = 0, low = 1000, high = -1000;
    for (std::int64_t i = 0; i < expected.count(); ++i) {
      const std::int64_t apart = std::abs(expected.as_int64(i) - actual.as_int64(i));
      furthest = std::max(furthest, apart);
      different += apart != 0;
      low = std::min(low, expected.as_int64(i)), high = std::max(high, expected.as_int64(i));
    }
    count += expected.count();
    CHECK(furthest <= 1);
    widest = std::max(widest, high - low);
  }
  CHECK(widest > 40);  // the case is meaningful
  INFO(row.name << ": " << different << " of " << count);
  CHECK(static_cast<double>(different) <= 0.005 * static_cast<double>(count));
}

}  // namespace dovetail
