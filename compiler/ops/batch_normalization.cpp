// BatchNormalization with given statistics (inference).
#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_batch_normalization(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  if (x.shape.size() < 2)
    return refuse(operands, fmt::format("input of shape {} has no channel axis", to_string(x.shape)),
                  "the input must be [batch, channels, ...]");
  if (graph::int_attribute(operands.node, "training_mode", 0) != 0)
    return refuse(operands, "training_mode is 1, but only inference (0) is supported",
                  "export the model in evaluation mode");
  static constexpr std::string_view kNames[] = {"X", "scale", "B", "input_mean", "input_var"};
  for (std::size_t i = 1; i < 5; ++i) DOVETAIL_TRY(require_per_channel(operands, i, kNames[i], x.shape[1]));
  return Types{x};
}

// Data, parameters and statistics may have different types; the arithmetic uses the widest, so that none is rounded
// first. Two different 16-bit types meet in float32.
DType arithmetic_type(const Operands& operands) {
  DType wide = operands.type(0).dtype;
  for (const std::size_t position : {std::size_t{1}, std::size_t{3}}) {
    const DType other = operands.type(position).dtype;
    if (size_bytes(other) == size_bytes(wide) && other != wide) wide = DType::float32;
    if (size_bytes(other) > size_bytes(wide)) wide = other;
  }
  return wide;
}

Result<loops::Program> define_batch_normalization(const Operands& operands) {
  Naive program(operands);
  const DType dtype = operands.type(0).dtype;
  return program.map([&](const Indices& i) {
    const DType wide = arithmetic_type(operands);
    const auto channel = [&](std::size_t position) {
      return loops::cast(wide, loops::load(program.in(position), {i[1]}));
    };
    const loops::Expr epsilon = loops::constant(graph::float_attribute(operands.node, "epsilon", 1e-5), wide);
    const loops::Expr centered = loops::cast(wide, loops::load(program.in(0), i)) - channel(3);
    return loops::cast(dtype,
                       tensor::divide(centered, tensor::square_root(channel(4) + epsilon)) * channel(1) + channel(2));
  });
}

}  // namespace

std::vector<OpDef> batch_normalization_ops() {
  // `momentum` affects training only.
  return {{"BatchNormalization",
           Category::injective,
           infer_batch_normalization,
           define_batch_normalization,
           {},
           {{{"X", kFloat},
             {"scale", kFloat, 'P'},
             {"B", kFloat, 'P'},
             {"input_mean", kFloat, 'S'},
             {"input_var", kFloat, 'S'}},
            {{"epsilon", AttributeKind::real},
             {"momentum", AttributeKind::real},
             {"training_mode", AttributeKind::integer}}}}};
}

}  // namespace dovetail::ops
