// Attention with a mask as exporters write it: the scores keep their precision, and the Softmax becomes integers.
#include "compiler/quantize/masks.h"

#include "compiler/passes/list.h"
#include "compiler/quantize/quantize.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::quantize {
namespace {

using graph::ValueId;

enum class Mask : std::uint8_t { integers, where_zero, where_low };

struct Attention : test::GraphMaker {
  ValueId number(const std::string& name, float value) { return constant(name, NdArray::scalar(value)); }

  explicit Attention(Mask kind, float low) {
    const ValueId q = input("q", DType::float32, {2, 6, 16}), k = input("k", DType::float32, {2, 16, 6});
    ValueId mask;
    if (kind == Mask::integers) {
      const ValueId flags = input("mask", DType::int64, {2, 1, 6});
      const ValueId real = node("Cast", "real", {flags}, {{"to", std::int64_t{info(DType::float32).onnx}}});
      mask = node("Mul", "hidden", {node("Sub", "rest", {number("one", 1), real}), number("low", low)});
    } else {
      const ValueId flags = input("mask", DType::boolean, {2, 1, 6});
      const ValueId zero = number("zero", 0), lowest = number("low", low);
      const bool first = kind == Mask::where_zero;
      mask = node("Where", "hidden", {flags, first ? zero : lowest, first ? lowest : zero});
    }
    const ValueId scores = node("MatMul", "scores", {q, k});
    const ValueId softmax = node("Softmax", "softmax", {node("Add", "masked", {scores, mask})});
    output(node("MatMul", "context", {softmax, q}));
  }
};

Quantized quantized_attention(const graph::Graph& graph, Mask kind) {
  std::vector<Values> samples;
  for (int i = 0; i < 6; ++i) {
    const auto drawn = [&](const Shape& shape, const std::string& name) {
      return zoo::normal_array(shape, 0.7, zoo::Random(3, name + std::to_string(i)));
    };
    NdArray mask(kind == Mask::integers ? DType::int64 : DType::boolean, {2, 1, 6});
    for (std::int64_t at = 0; at < 12; ++at) mask.set_int64(at, (at % 6 < 3 + i % 3) != (kind == Mask::where_low));
    samples.push_back({{"q", drawn({2, 6, 16}, "q")}, {"k", drawn({2, 16, 6}, "k")}, {"mask", std::move(mask)}});
  }
  auto result = quantize(graph, samples, {}, reference_forward());
  if (!result) FAIL(to_string(result.errors()));
  return *std::move(result);
}

TEST_CASE("quantize: a mask of low numbers costs the scores no precision") {
  const Mask kind = GENERATE(Mask::integers, Mask::where_zero, Mask::where_low);
  const float low = GENERATE(-1e4f, -3.4028235e38f);
  INFO(static_cast<int>(kind) << " " << low);
  Quantized result = quantized_attention(Attention(kind, low).graph, kind);
  REQUIRE(result.outputs.size() == 1);
  CHECK(result.outputs[0].signal_to_noise_db > 25);
  const auto lowered = passes::lower_qdq(result.graph);
  REQUIRE(lowered.ok());
  CHECK(lowered->notes.empty());
  std::map<std::string, int> ops;
  for (const graph::NodeId id : result.graph.live_nodes()) ++ops[result.graph.node(id).op];
  CHECK(ops["dovetail.qsoftmax"] == 1);
  CHECK(ops["dovetail.qmatmul"] == 2);
  CHECK(ops["Add"] + ops["Softmax"] + ops["Where"] == 0);
}

TEST_CASE("quantize: a tensor of other numbers is not a mask") {
  Attention network(Mask::integers, -20);  // a bias, which hides nothing
  graph::Graph graph = network.graph;
  hide_scores_by_condition(graph);
  CHECK(to_string(graph) == to_string(network.graph));
}

}  // namespace
}  // namespace dovetail::quantize
