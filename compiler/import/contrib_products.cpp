// Matrix products and convolutions with fused operations, and the inverse of a matrix.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "compiler/import/domain_rows.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

// ---- FusedMatMul

// The axes of an operand of rank 2 or more: with `batch`, the row axis comes first, before the batch axes.
std::vector<std::int64_t> operand_axes(std::int64_t rank, bool batch, bool transposed) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (batch) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (transposed) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return axes;
}

// alpha * A' B', each operand transposed if its attribute says so; vectors are not transposed.
Result<void> write_fused_matmul(NodeWriter& writer) {
  std::vector<ValueId> operands;
  for (const std::size_t i : {0, 1}) {
    const char* side = i == 0 ? "A" : "B";
    const auto rank = static_cast<std::int64_t>(writer.shape(i).size());
    const bool transposed = writer.integer(fmt::format("trans{}", side), 0) != 0,
               batch = writer.integer(fmt::format("transBatch{}", side), 0) != 0;
    ValueId operand = writer.in(i);
    if (rank >= 2)
      if (const auto axes = operand_axes(rank, batch, transposed); !std::ranges::is_sorted(axes))
        operand = writer.transpose(operand, fmt::format("{}_transposed", side), axes);
    operands.push_back(operand);
  }
  const double alpha = writer.real("alpha", 1);
  if (alpha == 1) {
    writer.finish("MatMul", std::move(operands));
    return {};
  }
  const ValueId product = writer.op("MatMul", "product", std::move(operands));
  writer.finish("Mul", {product, writer.number("alpha", writer.type(0).dtype, alpha)});
  return {};
}

// ---- Activations after a product

struct FusedActivation {
  std::string_view name;
  std::array<const char*, 2> attributes = {};  // the operator's, in the order of the parameters
};
constexpr FusedActivation kFusedActivations[] = {
    {"Elu", {"alpha"}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"LeakyRelu", {"alpha"}},
    {"Relu", {}},
    {"Selu", {"alpha", "gamma"}},
    {"Sigmoid", {}},
    {"Softplus", {}},
    {"Softsign", {}},
    {"Tanh", {}},
    {"ThresholdedRelu", {"alpha"}},
};

// The node becomes the activation applied to `x`. `parameters` are the activation's; missing ones take defaults.
Result<void> finish_activation(NodeWriter& writer, ValueId x, const std::string& name,
                               const std::vector<std::optional<double>>& parameters) {
  const DType dtype = writer.type(0).dtype;
  if (name == "Clip") {
    if (parameters.size() < 2 || !parameters[0] || !parameters[1])
      return writer.refused("activation Clip has no bounds", "give activation_params: the lower and the upper bound");
    writer.finish("Clip",
                  {x, writer.number("min", dtype, *parameters[0]), writer.number("max", dtype, *parameters[1])});
    return {};
  }
  const auto row = std::ranges::find(kFusedActivations, name, &FusedActivation::name);
  if (row == std::end(kFusedActivations))
    return writer.refused(fmt::format("activation {} is unknown", name),
                          "turn the fusion off (GemmActivationFusion, ConvActivationFusion), or use Relu, Sigmoid, "
                          "Tanh, LeakyRelu, HardSigmoid or Clip");
  graph::Attributes attributes;
  for (std::size_t i = 0; i < row->attributes.size(); ++i)
    if (row->attributes[i] != nullptr && i < parameters.size() && parameters[i])
      attributes[row->attributes[i]] = *parameters[i];
  writer.finish(row->name, {x}, std::move(attributes));
  return {};
}

// The node's attributes without those of its activation.
graph::Attributes product_attributes(const NodeWriter& writer) {
  graph::Attributes attributes = writer.node().attributes;
  std::erase_if(attributes, [](const auto& entry) { return entry.first.starts_with("activation"); });
  return attributes;
}

// activation(Conv(X, W, B) + Z)
Result<void> write_fused_conv(NodeWriter& writer) {
  std::vector<ValueId> inputs{writer.in(0), writer.in(1)};
  if (writer.has(2)) inputs.push_back(writer.in(2));
  const std::string activation = graph::string_attribute(writer.node(), "activation", "");
  const bool adds = writer.has(3);
  if (activation.empty() && !adds) {
    writer.finish("Conv", std::move(inputs), product_attributes(writer));
    return {};
  }
  ValueId y = writer.op("Conv", "conv", std::move(inputs), product_attributes(writer));
  if (activation.empty()) {
    writer.finish("Add", {y, writer.in(3)});
    return {};
  }
  if (adds) y = writer.op("Add", "sum", {y, writer.in(3)});
  std::vector<std::optional<double>> parameters;
  if (const auto found = writer.node().attributes.find("activation_params"); found != writer.node().attributes.end())
    for (const double parameter : std::get<std::vector<double>>(found->second)) parameters.emplace_back(parameter);
  return finish_activation(writer, y, activation, parameters);
}

Result<void> write_fused_gemm(NodeWriter& writer) {
  std::vector<ValueId> inputs{writer.in(0), writer.in(1)};
  if (writer.has(2)) inputs.push_back(writer.in(2));
  const std::string activation = graph::string_attribute(writer.node(), "activation", "");
  if (activation.empty()) {
    writer.finish("Gemm", std::move(inputs), product_attributes(writer));
    return {};
  }
  const ValueId y = writer.op("Gemm", "gemm", std::move(inputs), product_attributes(writer));
  const auto parameter = [&](const char* name) {
    return writer.node().attributes.contains(name) ? std::optional(writer.real(name, 0)) : std::nullopt;
  };
  // Selu's second parameter is gamma, HardSigmoid's beta.
  return finish_activation(
      writer, y, activation,
      {parameter("activation_alpha"), parameter(activation == "Selu" ? "activation_gamma" : "activation_beta")});
}

// ---- Inverse

constexpr std::int64_t kLargestInverse = 8;  // n^2 determinants of n - 1 rows

// The transposed matrix of cofactors, divided by the determinant.
Result<void> write_inverse(NodeWriter& writer) {
  const Shape shape = writer.shape(0);
  const std::int64_t n = shape.size() < 2 ? 0 : shape.back();
  if (n < 1 || shape[shape.size() - 2] != n || n > kLargestInverse)
    return writer.refused(fmt::format("a matrix has shape {}", to_string(shape)),
                          fmt::format("square matrices of up to {} rows are supported", kLargestInverse));
  const DType dtype = writer.type(0).dtype;
  if (n == 1) {
    writer.finish("Reciprocal", {writer.in(0)});
    return {};
  }
  // The rows and columns of each minor: all but r and c.
  NdArray others(DType::int64, {n, n - 1}), signs(dtype, {n, n});
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t i = 0; i + 1 < n; ++i) others.set_int64(r * (n - 1) + i, i < r ? i : i + 1);
    for (std::int64_t c = 0; c < n; ++c) signs.set_double(r * n + c, (r + c) % 2 == 0 ? 1 : -1);
  }
  const auto rank = static_cast<std::int64_t>(shape.size());
  const ValueId places = writer.constant("others", std::move(others));
  ValueId minors = writer.op("Gather", "rows", {writer.in(0), places}, {{"axis", rank - 2}});
  minors = writer.op("Gather", "columns", {minors, places}, {{"axis", rank}});
  // [batch.., r, i, c, j] as [batch.., c, r, i, j]: the result at (c, r) is the cofactor of (r, c).
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank - 2));
  std::iota(order.begin(), order.end(), 0);
  for (const std::int64_t axis : {rank, rank - 2, rank - 1, rank + 1}) order.push_back(axis);
  minors = writer.transpose(minors, "minors", order);
  const ValueId cofactors = writer.op(
      "Mul", "cofactors", {writer.op("Det", "determinants", {minors}), writer.constant("signs", std::move(signs))});
  const ValueId whole = writer.op("Unsqueeze", "determinant",
                                  {writer.op("Det", "whole", {writer.in(0)}), writer.integers("axes", {-1, -2})});
  writer.finish("Div", {cofactors, whole});
  return {};
}

}  // namespace

std::vector<DomainRow> contrib_product_rows() {
  constexpr auto integer = ops::AttributeKind::integer, real = ops::AttributeKind::real,
                 text = ops::AttributeKind::text, integers = ops::AttributeKind::integers;
  constexpr auto required = ops::Presence::required;
  const std::vector<ops::AttributeRule> matmul{
      {"alpha", real}, {"transA", integer}, {"transB", integer}, {"transBatchA", integer}, {"transBatchB", integer}};
  return {{"com.microsoft.FusedMatMul", write_fused_matmul, matmul, 2, 2},
          {"com.microsoft.TransposeMatMul", write_fused_matmul, matmul, 2, 2},
          {"com.microsoft.FusedConv",
           write_fused_conv,
           {{"activation", text},
            {"activation_params", ops::AttributeKind::reals},
            {"auto_pad", text},
            {"dilations", integers},
            {"group", integer},
            {"kernel_shape", integers},
            {"pads", integers},
            {"strides", integers}},
           4,
           2},
          {"com.microsoft.FusedGemm",
           write_fused_gemm,
           {{"activation", text},
            {"activation_alpha", real},
            {"activation_beta", real},
            {"activation_gamma", real},
            {"alpha", real},
            {"beta", real},
            {"transA", integer},
            {"transB", integer}},
           3,
           2},
          {"com.microsoft.Inverse", write_inverse, {}, 1, 1}};
}

}  // namespace dovetail::import
