// Replaces tiny weights by zero, as training with weight decay leaves them: their products, and the sums that begin
// with these, are subnormal, and processors take up to 100 times as long for such an operation. A weight below 2^-80
// next to weights of 2^-16 or more changes a sum by less than its rounding, unless the element that it multiplies is
// larger than the others by a factor of 2^40.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

constexpr float kTiny = 0x1p-80F, kUsual = 0x1p-16F;

bool is_tiny(float weight) { return weight != 0 && std::abs(weight) < kTiny; }

// The constant without tiny numbers; nullopt if there are none, or no number of usual magnitude.
std::optional<NdArray> without_tiny(const NdArray& weights) {
  if (weights.dtype() != DType::float32) return std::nullopt;
  const auto values = weights.data<float>();
  if (std::ranges::none_of(values, is_tiny)) return std::nullopt;
  const auto is_usual = [](float weight) { return std::isfinite(weight) && std::abs(weight) >= kUsual; };
  if (std::ranges::none_of(values, is_usual)) return std::nullopt;
  NdArray result = weights;
  std::ranges::replace_if(result.data<float>(), is_tiny, 0.0F);
  return result;
}

// Operators whose results are sums of products with their second operand.
bool multiplies(const graph::Node& node) {
  static constexpr std::string_view kOps[] = {"Conv",          "ConvTranspose", "Gemm",         "MatMul",
                                              "dovetail.lstm", "dovetail.gru",  "dovetail.rnn", "Einsum"};
  return std::ranges::find(kOps, node.op) != std::end(kOps);
}

}  // namespace

Result<PassOutcome> drop_tiny_weights(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order()) {
    const graph::Node node = graph.node(id);
    if (!multiplies(node) || !has_input(node, 1) || !graph.is_constant(node.inputs[1])) continue;
    auto weights = without_tiny(*graph.value(node.inputs[1]).constant);
    if (!weights) continue;
    std::vector<ValueId> inputs = node.inputs;
    inputs[1] = graph.add_constant(graph.value(node.inputs[1]).name, *std::move(weights));
    if (become(graph, id, node.op, inputs, node.attributes)) ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes
