// Cross-layer equalization: the same function, with balanced ranges.
#include "compiler/quantize/equalize.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "compiler/quantize/quantize.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::quantize {
namespace {

using graph::ValueId;
using Ints = std::vector<std::int64_t>;

NdArray random_array(const Shape& shape, const std::string& name) {
  return zoo::normal_array(shape, 0.3, zoo::Random(7, name));
}

// conv - relu - depthwise conv - relu - pool - flatten - gemm; channels of the first differ by up to 512, and the
// second compensates for it.
test::GraphMaker unequal() {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 3, 8, 8});
  NdArray first = random_array({4, 3, 3, 3}, "w1"), bias = random_array({4}, "b1"),
          second = random_array({4, 1, 3, 3}, "w2");
  const auto scale = [](NdArray& array, std::int64_t element, std::int64_t exponent) {
    array.set_double(element, std::ldexp(array.as_double(element), static_cast<int>(exponent)));
  };
  for (std::int64_t i = 0; i < first.count(); ++i) scale(first, i, i / 27 * -3);
  for (std::int64_t i = 0; i < bias.count(); ++i) scale(bias, i, i * -3);
  for (std::int64_t i = 0; i < second.count(); ++i) scale(second, i, i / 9 * 3);
  ValueId value = make.node("Conv", "conv1", {x, make.constant("w1", first), make.constant("b1", bias)});
  value = make.node("Relu", "relu1", {value});
  value = make.node("Conv", "conv2", {value, make.constant("w2", second)}, {{"group", std::int64_t{4}}});
  value = make.node("Relu", "relu2", {value});
  value = make.node("MaxPool", "pool", {value}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  value = make.node("Flatten", "flat", {value});
  value = make.node("Gemm", "gemm", {value, make.constant("w3", random_array({16, 5}, "w3"))});
  make.output(value);
  return make;
}

std::vector<Values> mixed_samples(int count) {
  std::vector<Values> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back({{"x", random_array({1, 3, 8, 8}, "x" + std::to_string(i))}});
  return inputs;
}

NdArray result_of(const graph::Graph& graph, const Values& inputs) {
  return reference_forward()(graph).value()(inputs).value().at("gemm");
}

}  // namespace

TEST_CASE("equalize: the function keeps every bit") {
  test::GraphMaker make = unequal();
  graph::Graph equal = make.graph;
  CHECK(equalize(equal) ==
        std::vector<std::pair<std::string, std::string>>{{"conv1_node", "conv2_node"}, {"conv2_node", "gemm_node"}});
  const NdArray& before = make.constant_of("w1");
  const NdArray& after = *equal.value(*equal.find_value("w1")).constant;
  CHECK_FALSE(before == after);
  for (const Values& sample : mixed_samples(3)) CHECK(result_of(make.graph, sample) == result_of(equal, sample));
  // Nothing is left to do.
  const graph::Graph once = equal;
  equalize(equal);
  CHECK(to_string(once, graph::Elements::all) == to_string(equal, graph::Elements::all));
}

TEST_CASE("equalize: with one scale per tensor the error is smaller") {
  Options plain;
  plain.weights = WeightScales::per_tensor;
  Options spread = plain;
  spread.equalize = true;
  const auto before = quantize(unequal().graph, mixed_samples(4), plain, reference_forward()),
             after = quantize(unequal().graph, mixed_samples(4), spread, reference_forward());
  REQUIRE(before.ok());
  REQUIRE(after.ok());
  CHECK(after->equalized.size() == 2);
  CHECK(after->outputs[0].signal_to_noise_db > before->outputs[0].signal_to_noise_db);
}

TEST_CASE("equalize: a tensor with other readers, or limited by a Clip, stays") {
  test::GraphMaker make = unequal();
  make.output(*make.graph.find_value("relu1"));
  CHECK(equalize(make.graph).size() == 1);
  test::GraphMaker clipped;
  const ValueId x = clipped.input("x", DType::float32, {1, 3, 8, 8});
  const ValueId conv = clipped.node("Conv", "conv1", {x, clipped.constant("w1", random_array({4, 3, 1, 1}, "w1"))});
  const ValueId clip = clipped.node(
      "Clip", "clip",
      {conv, clipped.constant("low", NdArray::scalar(0.0F)), clipped.constant("high", NdArray::scalar(6.0F))});
  clipped.output(clipped.node("Conv", "conv2", {clip, clipped.constant("w2", random_array({4, 4, 1, 1}, "w2"))}));
  CHECK(equalize(clipped.graph).empty());
}

}  // namespace dovetail::quantize
