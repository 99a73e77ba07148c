// Activations with the bias that ONNX Runtime's optimizer fuses into them.
#include "compiler/import/domain_rows.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

// Input 0, plus the bias (input 1) if it is given.
ValueId with_bias(NodeWriter& writer) {
  if (!writer.has(1)) return writer.in(0);
  return writer.op("Add", "biased", {writer.in(0), writer.in(1)}, {}, writer.type(0));
}

Result<void> write_gelu(NodeWriter& writer) {
  writer.finish("Gelu", {with_bias(writer)});
  return {};
}

Result<void> write_fast_gelu(NodeWriter& writer) {
  writer.finish("Gelu", {with_bias(writer)}, {{"approximate", std::string("tanh")}});
  return {};
}

// x * sigmoid(alpha * x)
Result<void> write_quick_gelu(NodeWriter& writer) {
  const ValueId x = writer.in(0);
  const ValueId scaled =
      writer.op("Mul", "scaled", {x, writer.number("alpha", writer.type(0).dtype, writer.real("alpha", 1.702))});
  writer.finish("Mul", {x, writer.op("Sigmoid", "sigmoid", {scaled})});
  return {};
}

}  // namespace

std::vector<DomainRow> contrib_elementwise_rows() {
  return {{"com.microsoft.BiasGelu", write_gelu, {}, 2, 2},
          {"com.microsoft.FastGelu", write_fast_gelu, {}, 2, 1},
          {"com.microsoft.Gelu", write_gelu, {}, 1, 1},
          {"com.microsoft.QuickGelu", write_quick_gelu, {{"alpha", ops::AttributeKind::real}}, 1, 1}};
}

}  // namespace dovetail::import
