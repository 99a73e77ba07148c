// Errors of single layers, bias correction, powers of two.
#include "compiler/quantize/layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compiler/quantize/quantize.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::quantize {
namespace {

using graph::ValueId;

NdArray random_weights(const Shape& shape, const std::string& name, double deviation = 0.3) {
  return zoo::normal_array(shape, deviation, zoo::Random(11, name));
}

// Three layers; with one scale for all its weights, one outlier removes the precision of the second's other weights.
test::GraphMaker three_layers() {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 4, 6, 6});
  NdArray outlier = random_weights({6, 4, 1, 1}, "w2");
  outlier.set_double(3, 8);
  ValueId value = make.node("Conv", "conv1", {x, make.constant("w1", random_weights({4, 4, 1, 1}, "w1"))});
  value = make.node("Conv", "conv2", {make.node("Relu", "relu1", {value}), make.constant("w2", outlier)});
  value = make.node("GlobalAveragePool", "mean", {make.node("Relu", "relu2", {value})});
  value = make.node("Flatten", "flat", {value});
  make.output(make.node("MatMul", "product", {value, make.constant("w3", random_weights({6, 5}, "w3"))}));
  return make;
}

std::vector<Values> samples_of_layers(int count) {
  std::vector<Values> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back({{"x", random_weights({1, 4, 6, 6}, "x" + std::to_string(i), 1)}});
  return inputs;
}

Quantized quantized_with(const Options& options, int count = 6) {
  auto result = quantize(three_layers().graph, samples_of_layers(count), options, reference_forward());
  if (!result) FAIL(to_string(result.errors()));
  return *std::move(result);
}

}  // namespace

TEST_CASE("layers: the layer with the largest error is found, and keeping it in float helps") {
  Options options;
  options.weights = WeightScales::per_tensor;
  options.layer_samples = 4;
  std::int64_t calls = 0, all_runs = 0;
  options.progress = [&](const Step& step) -> Result<void> {
    if (step.what == "layers" && !step.compiling) {
      CHECK(step.done == calls++);
      all_runs = step.all;
    }
    return {};
  };
  const Quantized result = quantized_with(options);
  std::vector<std::string> names;
  for (const LayerReport& layer : result.layers) names.push_back(layer.layer);
  CHECK(names == std::vector<std::string>{"x", "conv1_node", "conv2_node", "mean_node", "product_node"});
  CHECK(result.layer_samples == 4);
  CHECK(calls == 4 * 6);
  CHECK(all_runs == calls);
  const auto worst = std::ranges::min_element(result.layers, {}, &LayerReport::output_db);
  CHECK(worst->layer == "conv2_node");
  REQUIRE(worst->weights_db.has_value());
  CHECK_FALSE(result.layers[0].weights_db.has_value());
  // The channel with the smallest weights and without the outlier: it is worse than the layer, whose signal is the
  // outlier's.
  REQUIRE(worst->channel_db.has_value());
  CHECK(*worst->channel_db < *worst->weights_db - 6);
  CHECK_FALSE(result.layers[0].channel_db.has_value());
  // All together lose at least about as much as the worst alone.
  CHECK(result.outputs[0].signal_to_noise_db < worst->output_db + 3);
  // Kept in float, it no longer has an error.
  options.keep_float = {"conv2_node"};
  options.progress = nullptr;
  const Quantized better = quantized_with(options);
  CHECK(better.outputs[0].signal_to_noise_db > result.outputs[0].signal_to_noise_db);
}

TEST_CASE("layers: among many, the worst ones are found by groups") {
  // A chain of products, three of which have an outlier among their weights.
  constexpr int kLayers = 64;
  test::GraphMaker make;
  ValueId value = make.input("x", DType::float32, {1, 4, 6, 6});
  for (int i = 0; i < kLayers; ++i) {
    const std::string name = "conv" + std::to_string(i);
    NdArray weights = random_weights({4, 4, 1, 1}, name, 0.1);
    for (std::int64_t c = 0; c < 4; ++c) weights.set_double(5 * c, 1);
    if (i == 9 || i == 30 || i == 31) weights.set_double(1, 40);
    value = make.node("Conv", name, {value, make.constant("w" + std::to_string(i), weights)});
  }
  make.output(value);
  const auto layers = [&](std::size_t most, std::int64_t& runs) {
    Options options;
    options.weights = WeightScales::per_tensor;
    options.layer_samples = 2;
    options.worst_layers = most;
    std::int64_t promised = 0;
    options.progress = [&](const Step& step) -> Result<void> {
      if (step.what == "layers" && !step.compiling) runs = step.done + 1, promised = step.all;
      return {};
    };
    auto result = quantize(make.graph, samples_of_layers(2), options, reference_forward());
    if (!result) FAIL(to_string(result.errors()));
    CHECK(result->all_layers == kLayers + 1);
    CHECK(runs <= promised);
    return result->layers;
  };
  std::int64_t runs_of_all = 0, runs_of_three = 0;
  std::vector<LayerReport> all = layers(1000, runs_of_all);
  const std::vector<LayerReport> three = layers(3, runs_of_three);
  CHECK(all.size() == kLayers + 1);
  CHECK(runs_of_all == 2 * (kLayers + 2));
  std::vector<std::string> names;
  for (const LayerReport& layer : three) names.push_back(layer.layer);
  CHECK(names == std::vector<std::string>{"conv9_node", "conv30_node", "conv31_node"});
  CHECK(runs_of_three < runs_of_all);
  // The report of a layer does not depend on how it was found.
  for (const LayerReport& layer : three) {
    const auto same = std::ranges::find(all, layer.layer, &LayerReport::layer);
    REQUIRE(same != all.end());
    CHECK(same->output_db == layer.output_db);
  }
}

TEST_CASE("layers: the progress callback may stop the work") {
  Options options;
  options.layer_samples = 1;
  options.progress = [](const Step& step) -> Result<void> {
    if (step.what == "layers") return Diagnostic{"stopped", "here", "enough", "continue"};
    return {};
  };
  const auto result = quantize(three_layers().graph, samples_of_layers(1), options, reference_forward());
  REQUIRE_FALSE(result.ok());
  CHECK(result.errors()[0].what == "stopped");
}

TEST_CASE("biases: the mean of each layer is restored, a product gets an Add") {
  Options options;
  options.weights = WeightScales::per_tensor;
  const Quantized plain = quantized_with(options);
  options.correct_biases = true;
  const Quantized corrected = quantized_with(options);
  CHECK(corrected.corrected == std::vector<std::string>{"conv1_node", "conv2_node", "product_node"});
  CHECK(plain.corrected.empty());
  CHECK(corrected.outputs[0].signal_to_noise_db > plain.outputs[0].signal_to_noise_db);
  CHECK(corrected.graph.find_node("product_node/corrected").has_value());
  CHECK(corrected.tensors.size() == plain.tensors.size());
}

TEST_CASE("grid: powers of two and zero points of 0, weights included") {
  Options options;
  options.grid = {ZeroPoint::middle, Scales::power_of_two};
  for (const Method method : {Method::min_max, Method::percentile, Method::entropy, Method::mse}) {
    options.method = method;
    const Quantized result = quantized_with(options);
    for (const TensorReport& tensor : result.tensors) {
      INFO(name(method) << " " << tensor.value);
      CHECK(tensor.q.zero_point == 0);
      CHECK(std::log2(tensor.q.scale) == std::floor(std::log2(tensor.q.scale)));
    }
    CHECK(result.outputs[0].signal_to_noise_db > 12);
    for (const char* weight : {"w1/scale", "w2/scale", "w3/scale"}) {
      const NdArray& scales = *result.graph.value(*result.graph.find_value(weight)).constant;
      for (std::int64_t i = 0; i < scales.count(); ++i)
        CHECK(std::log2(scales.as_double(i)) == std::floor(std::log2(scales.as_double(i))));
    }
  }
}

TEST_CASE("grid: weights of 4 bits, and scales that clip where that is more exact") {
  Options options;
  options.weight_bits = 4;
  const Quantized result = quantized_with(options);
  int weights = 0;
  for (const graph::NodeId id : result.graph.topological_order()) {
    const graph::Node& node = result.graph.node(id);
    if (node.op != "DequantizeLinear" || !result.graph.is_constant(node.inputs[0])) continue;
    const NdArray& steps = *result.graph.value(node.inputs[0]).constant;
    if (steps.dtype() != DType::int8) continue;
    ++weights;
    const auto lanes = steps.data<std::int8_t>();
    CHECK(std::ranges::max(lanes) <= 7);
    CHECK(std::ranges::min(lanes) >= -7);
    CHECK(std::ranges::max(lanes) - std::ranges::min(lanes) > 7);
  }
  CHECK(weights >= 3);
}

TEST_CASE("quantize: unsuitable models are refused") {
  const Quantized once = quantized_with({});
  const auto twice = quantize(once.graph, samples_of_layers(1), {}, reference_forward());
  REQUIRE_FALSE(twice.ok());
  CHECK(twice.errors()[0].why == "the model is already quantized");
  test::GraphMaker make;
  make.output(make.node("Softmax", "y", {make.input("x", DType::float32, {1, 4})}, {{"axis", std::int64_t{1}}}));
  const auto nothing =
      quantize(make.graph, {{Values{{"x", NdArray(DType::float32, {1, 4})}}}}, {}, reference_forward());
  REQUIRE_FALSE(nothing.ok());
  CHECK(nothing.errors()[0].where == "the model");
}

TEST_CASE("quantize: a sample with NaN is refused") {
  std::vector<Values> samples = samples_of_layers(3);
  NdArray& values = samples[2].begin()->second;
  values.data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  const auto refused = quantize(three_layers().graph, samples, {}, reference_forward());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.errors()[0].where == "sample 2, input " + samples[2].begin()->first);
  CHECK(refused.errors()[0].why == "element 5 is NaN");
}

}  // namespace dovetail::quantize
