// Quantized operators that cannot be written as a float operator between DequantizeLinear and QuantizeLinear: a
// recurrence that quantizes its state in each step, and pools of channels-last images.
#include <algorithm>
#include <array>
#include <iterator>

#include "compiler/import/domain_rows.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

// ---- DynamicQuantizeLSTM

// Inputs, in their order: X, W, R, B, sequence_lens, initial_h, initial_c, P, W_scale, W_zero_point, R_scale,
// R_zero_point. W has a row for each element of the input, R one for each element of the state; both have a column for
// each element of each gate. X is quantized once, with the range of its elements; the state is quantized in each step,
// with the range that it has then.
class DynamicLstm {
 public:
  explicit DynamicLstm(NodeWriter& writer) : writer_(writer) {}

  Result<void> run() {
    for (const std::size_t needed : {8, 10})
      if (!writer_.has(needed)) return writer_.refused(fmt::format("input {} is missing", needed), "fix the exporter");
    const Shape x = writer_.shape(0), w = writer_.shape(1), r = writer_.shape(2);
    if (x.size() != 3 || w.size() != 3 || r.size() != 3 || w[1] != x[2] || w[0] != r[0] || r[2] != 4 * r[1] ||
        w[2] != r[2])
      return writer_.refused(
          fmt::format("X has shape {}, W {} and R {}", to_string(x), to_string(w), to_string(r)),
          "they must be [steps, batch, inputs], [directions, inputs, 4 * hidden], [directions, hidden, 4 * hidden]");
    directions_ = w[0], columns_ = w[2];
    if (writer_.has(3) && writer_.shape(3) != Shape{directions_, 2 * columns_})
      return writer_.refused(fmt::format("B has shape {}", to_string(writer_.shape(3))),
                             fmt::format("expected [{}, {}]", directions_, 2 * columns_));
    if (writer_.has(11) && writer_.type(11).dtype != writer_.type(2).dtype)
      return writer_.refused(
          fmt::format("R is {} and R_zero_point {}", name(writer_.type(2).dtype), name(writer_.type(11).dtype)),
          "both must be int8 or uint8");
    for (const auto& [input, what] : {std::pair<std::size_t, const char*>{8, "W_scale"}, {9, "W_zero_point"}})
      if (writer_.has(input) && writer_.shape(input) != Shape{directions_} &&
          writer_.shape(input) != Shape{directions_, columns_})
        return writer_.refused(fmt::format("{} has shape {}", what, to_string(writer_.shape(input))),
                               fmt::format("expected one per direction, [{}], or per column, [{}, {}]", directions_,
                                           directions_, columns_));
    std::vector<ValueId> inputs{projection(x, w)};
    std::ranges::copy(recurrence(), std::back_inserter(inputs));
    for (const std::size_t input : {4, 5, 6, 7}) inputs.push_back(writer_.has(input) ? writer_.in(input) : ValueId{});
    while (!inputs.back().valid()) inputs.pop_back();
    become_recurrence(std::move(inputs));
    return {};
  }

 private:
  // One number per column of all directions, from one per direction or one per column.
  ValueId per_column(std::size_t input, const char* stem) {
    const graph::TensorType type = writer_.type(input);
    ValueId value = writer_.in(input);
    if (type.shape == Shape{directions_}) {
      value = writer_.reshape(value, fmt::format("{}_directions", stem), {directions_, 1});
      value = writer_.op("Expand", fmt::format("{}_columns", stem),
                         {value, writer_.integers(fmt::format("{}_to", stem), {directions_, columns_})}, {}, type);
    }
    return writer_.reshape(value, stem, {directions_ * columns_});
  }

  // X W of all directions concatenated, with both biases.
  ValueId projection(const Shape& x, const Shape& w) {
    Rewrite& rewrite = writer_.rewrite();
    const auto value = [&](const char* stem, DType dtype, const Shape& shape) {
      return rewrite.graph.add_value(fmt::format("{}/{}", writer_.node().name, stem), {dtype, shape});
    };
    const ValueId steps = value("x_steps", DType::uint8, x), scale = value("x_scale", DType::float32, {}),
                  zero_point = value("x_zero_point", DType::uint8, {});
    rewrite.before.push_back(
        rewrite.add("DynamicQuantizeLinear", "quantize", {writer_.in(0)}, {steps, scale, zero_point}));
    ValueId weight = writer_.transpose(writer_.in(1), "w_inputs_first", {1, 0, 2});
    weight = writer_.reshape(weight, "w", {w[1], directions_ * columns_});
    std::vector<ValueId> operands{steps, weight, zero_point};
    if (writer_.has(9)) operands.push_back(per_column(9, "w_zero_point"));
    const ValueId sums = writer_.op("MatMulInteger", "sums", std::move(operands), {},
                                    graph::TensorType{DType::int32, {x[0], x[1], directions_ * columns_}});
    const ValueId real = writer_.cast(sums, "real", DType::float32);
    const ValueId scales = writer_.op("Mul", "scales", {per_column(8, "w_scale"), scale});
    const ValueId product = writer_.op("Mul", "product", {real, scales});
    if (!writer_.has(3)) return product;
    // The input bias and the state bias are concatenated; their sum is the bias.
    const auto half = [&](std::int64_t i, const char* stem) {
      return writer_.op("Slice", stem,
                        {writer_.in(3), writer_.integers("bias_from", {i * columns_}),
                         writer_.integers("bias_to", {(i + 1) * columns_}), writer_.integers("bias_axis", {1})},
                        {}, graph::TensorType{DType::float32, {directions_, columns_}});
    };
    const ValueId both = writer_.op("Add", "biases", {half(0, "input_bias"), half(1, "state_bias")}, {},
                                    graph::TensorType{DType::float32, {directions_, columns_}});
    return writer_.op("Add", "projected", {product, writer_.reshape(both, "bias", {directions_ * columns_})});
  }

  // R as signed bytes, the sums of its columns, its scale, and its zero point unless that is known to be zero.
  std::array<ValueId, 4> recurrence() {
    const bool is_signed = writer_.type(2).dtype == DType::int8;
    const ValueId weights = is_signed ? writer_.in(2) : as_signed(writer_.in(2), "r");
    const ValueId words = writer_.cast(weights, "r_words", DType::int32);
    const ValueId sums =
        writer_.op("ReduceSum", "r_sums", {words, writer_.integers("r_rows", {1})}, {{"keepdims", std::int64_t{0}}});
    ValueId zero_point;
    if (writer_.has(11)) {
      const NdArray* known = writer_.constant_input(11);
      bool zero = is_signed && known != nullptr;
      for (std::int64_t i = 0; zero && i < known->count(); ++i) zero = known->as_double(i) == 0;
      if (!zero) zero_point = is_signed ? writer_.in(11) : as_signed(writer_.in(11), "r_zero_point");
    } else if (!is_signed) {
      NdArray least(DType::int8, {directions_});
      for (std::int64_t d = 0; d < directions_; ++d) least.set_double(d, -128);
      zero_point = writer_.constant("r_zero_point", std::move(least));
    }
    return {weights, sums, writer_.in(10), zero_point};
  }
  // Unsigned bytes minus 128.
  ValueId as_signed(ValueId bytes, std::string_view stem) {
    const ValueId words = writer_.cast(bytes, fmt::format("{}_of_unsigned", stem), DType::int32);
    const ValueId half = writer_.number(fmt::format("{}_half", stem), DType::int32, 128);
    return writer_.cast(writer_.op("Sub", fmt::format("{}_less_half", stem), {words, half}),
                        fmt::format("{}_signed", stem), DType::int8);
  }

  void become_recurrence(std::vector<ValueId> inputs) {
    const graph::NodeEdit edit = writer_.rewrite().edit();
    edit->op = "dovetail.dynamic_lstm";
    edit->inputs = std::move(inputs);
  }

  NodeWriter& writer_;
  std::int64_t directions_ = 0, columns_ = 0;
};

Result<void> write_dynamic_lstm(NodeWriter& writer) { return DynamicLstm(writer).run(); }

// ---- NhwcMaxPool

Result<void> write_channels_last_pool(NodeWriter& writer) {
  const auto rank = static_cast<std::int64_t>(writer.shape(0).size());
  if (rank < 3)
    return writer.refused(fmt::format("input has shape {}", to_string(writer.shape(0))),
                          "it must be [batch, extents..., channels]");
  std::vector<std::int64_t> first{0, rank - 1}, last{0};
  for (std::int64_t axis = 1; axis + 1 < rank; ++axis) first.push_back(axis), last.push_back(axis + 1);
  last.push_back(1);
  const ValueId image = writer.transpose(writer.in(0), "channels_first", first);
  const ValueId pooled = writer.op("MaxPool", "pool", {image}, writer.node().attributes);
  writer.finish("Transpose", {pooled}, {{"perm", last}});
  return {};
}

}  // namespace

std::vector<DomainRow> contrib_quantized_rows() {
  constexpr auto integer = ops::AttributeKind::integer, real = ops::AttributeKind::real,
                 text = ops::AttributeKind::text, integers = ops::AttributeKind::integers,
                 reals = ops::AttributeKind::reals;
  constexpr auto required = ops::Presence::required;
  return {{"com.microsoft.DynamicQuantizeLSTM",
           write_dynamic_lstm,
           {{"activation_alpha", reals},
            {"activation_beta", reals},
            {"activations", ops::AttributeKind::texts},
            {"clip", real},
            {"direction", text},
            {"hidden_size", integer},
            {"input_forget", integer}},
           12,
           3},
          {"com.microsoft.NhwcMaxPool",
           write_channels_last_pool,
           {{"auto_pad", text},
            {"ceil_mode", integer},
            {"dilations", integers},
            {"kernel_shape", integers, required},
            {"pads", integers},
            {"strides", integers}},
           1,
           1}};
}

}  // namespace dovetail::import
