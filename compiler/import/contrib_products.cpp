// Matrix products and convolutions with fused operations, weights of a few bits, and the inverse of a matrix.
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

// ---- MatMulNBits

struct NBits {
  std::int64_t k, n, bits, block, blocks;
};

Result<NBits> n_bits_of(const NodeWriter& writer) {
  NBits form{writer.integer("K", 0), writer.integer("N", 0), writer.integer("bits", 4), writer.integer("block_size", 0),
             0};
  if (writer.has(4))
    return writer.refused("g_idx (permuted columns) is not supported",
                          "quantize without act-order: GPTQ's desc_act = false");
  if (form.bits != 2 && form.bits != 4 && form.bits != 8)
    return writer.refused(fmt::format("bits is {}, but must be 2, 4 or 8", form.bits),
                          "quantize with a supported number of bits");
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // no product below overflows
  if (std::min({form.k, form.n, form.block}) < 1 || std::max({form.k, form.n, form.block}) > kMost)
    return writer.refused(fmt::format("K is {}, N {}, block_size {}", form.k, form.n, form.block),
                          "each must be between 1 and 2^30");
  if (writer.shape(0).empty() || writer.shape(0).back() != form.k)
    return writer.refused(fmt::format("A has shape {}, but K is {}", to_string(writer.shape(0)), form.k),
                          "the last axis of A must have K elements");
  form.blocks = (form.k + form.block - 1) / form.block;
  return form;
}

// Element `i` of a row of packed elements; the first element is in the lowest bits.
std::int64_t packed_element(const NdArray& bytes, std::int64_t row_start, std::int64_t i, std::int64_t bits) {
  const std::int64_t per_byte = 8 / bits;
  return bytes.as_int64(row_start + i / per_byte) >> (i % per_byte * bits) & ((std::int64_t{1} << bits) - 1);
}

// A W' + bias: W [N, K] is packed quantized values in blocks along K, each (step - zero point) * scale. Transposed to
// [K, N] it is the weight of a MatMul. If the zero points are floats rather than steps, W is dequantized into a
// constant.
Result<void> write_matmul_n_bits(NodeWriter& writer) {
  DOVETAIL_ASSIGN(const NBits form, n_bits_of(writer));
  const NdArray *b = writer.constant_input(1), *scales = writer.constant_input(2), *zeros = writer.constant_input(3);
  if (b == nullptr || scales == nullptr || (writer.has(3) && zeros == nullptr))
    return writer.refused("the weight, scales or zero points are computed at run time", "make them initializers");
  const std::int64_t block_bytes = form.block * form.bits / 8, row_bytes = (form.blocks * form.bits + 7) / 8;
  const bool packed_zeros = zeros != nullptr && zeros->dtype() == DType::uint8;
  const auto check_count = [&](const char* what, const NdArray& array, std::int64_t expected) -> Result<void> {
    if (array.count() == expected) return {};
    return writer.refused(fmt::format("{} has shape {}", what, to_string(array.shape())),
                          fmt::format("expected {} elements", expected));
  };
  if (b->dtype() != DType::uint8 || form.block * form.bits % 8 != 0)
    return writer.refused(fmt::format("B is {}, and its blocks have {} bits", name(b->dtype()), form.block * form.bits),
                          "B must be uint8, and the bits of each block a multiple of 8");
  DOVETAIL_TRY(check_count("B", *b, form.n * form.blocks * block_bytes));
  DOVETAIL_TRY(check_count("scales", *scales, form.n * form.blocks));
  if (zeros != nullptr)
    DOVETAIL_TRY(check_count("zero_points", *zeros, form.n * (packed_zeros ? row_bytes : form.blocks)));
  const bool real_zeros = zeros != nullptr && !packed_zeros;
  if (real_zeros && !is_floating(zeros->dtype()))
    return writer.refused(fmt::format("zero_points are {}", name(zeros->dtype())), "give uint8 or the type of A");

  const DType dtype = writer.type(0).dtype, scale_dtype = scales->dtype();
  NdArray steps(DType::uint8, {form.k, form.n}), scale(scale_dtype, {form.blocks, form.n}),
      zero(DType::uint8, {form.blocks, form.n}), weight(dtype, real_zeros ? Shape{form.k, form.n} : Shape{0});
  for (std::int64_t n = 0; n < form.n; ++n) {
    for (std::int64_t block = 0; block < form.blocks; ++block) {
      const std::int64_t at = block * form.n + n, given = n * form.blocks + block;
      scale.set_double(at, scales->as_double(given));
      zero.set_int64(at, packed_zeros ? packed_element(*zeros, n * row_bytes, block, form.bits)
                                      : std::int64_t{1} << (form.bits - 1));
    }
    for (std::int64_t k = 0; k < form.k; ++k) {
      const std::int64_t block = k / form.block, given = n * form.blocks + block;
      const std::int64_t step = packed_element(*b, given * block_bytes, k % form.block, form.bits);
      steps.set_int64(k * form.n + n, step);
      if (real_zeros)
        weight.set_double(k * form.n + n,
                          static_cast<float>(static_cast<float>(step) - static_cast<float>(zeros->as_double(given))) *
                              static_cast<float>(scales->as_double(given)));
    }
  }
  ValueId w;
  if (real_zeros) {
    w = writer.constant("weight", std::move(weight));
  } else {
    w = writer.op("DequantizeLinear", "dequantize",
                  {writer.constant("steps", std::move(steps)), writer.constant("scales", std::move(scale)),
                   writer.constant("zero_points", std::move(zero))},
                  {{"axis", std::int64_t{0}}, {"block_size", form.block}});
    if (scale_dtype != dtype) w = writer.op("Cast", "weight", {w}, {{"to", std::int64_t{info(dtype).onnx}}});
  }
  if (!writer.has(5)) {
    writer.finish("MatMul", {writer.in(0), w});
    return {};
  }
  writer.finish("Add", {writer.op("MatMul", "product", {writer.in(0), w}), writer.in(5)});
  return {};
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
          {"com.microsoft.Inverse", write_inverse, {}, 1, 1},
          {"com.microsoft.MatMulNBits",
           write_matmul_n_bits,
           // The least accuracy of a runtime's products; here they are exact.
           {{"K", integer, required},
            {"N", integer, required},
            {"accuracy_level", integer},
            {"bits", integer},
            {"block_size", integer, required}},
           6,
           3,
           {1, 2, 3}}};
}

}  // namespace dovetail::import
