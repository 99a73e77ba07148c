// ONNX's Attention (operator sets 23 and 24) expanded, by its definition, into MatMul, Softmax and operators that move
// data: the form that recognize_attention and the matrix kernels run fast.
#include <array>
#include <cmath>
#include <limits>

#include "compiler/import/node_writer.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

class Attention {
 public:
  explicit Attention(Rewrite& rewrite) : rewrite_(rewrite), writer_(rewrite), node_(writer_.node()) {}

  Result<void> run() {
    DOVETAIL_TRY(check());
    const ValueId q = heads_first(0, "q", heads_);
    ValueId k = heads_first(1, "k", kv_heads_), v = heads_first(2, "v", kv_heads_);
    if (writer_.has(4)) {
      k = op("Concat", "key", {writer_.in(4), k}, {{"axis", std::int64_t{2}}});
      v = op("Concat", "value", {writer_.in(5), v}, {{"axis", std::int64_t{2}}});
    }
    if (writer_.is_used(1)) writer_.give(1, k);
    if (writer_.is_used(2)) writer_.give(2, v);
    k = repeat_heads(k, "keys", total_, size_);
    v = repeat_heads(v, "values", total_, value_size_);
    ValueId scores = softcapped(product(q, k));
    const ValueId capped = scores;
    if (const ValueId bias = mask(); bias.valid()) scores = op("Add", "masked", {scores, bias});
    const ValueId weights = softmax(scores);
    if (writer_.is_used(3)) writer_.give(3, std::array{raw_, capped, scores, weights}[static_cast<std::size_t>(mode_)]);
    finish(weights, v);
    return {};
  }

 private:
  Result<void> check() {
    for (std::size_t input : {0, 1, 2})
      if (!writer_.has(input) || writer_.type(input).shape.size() != writer_.type(0).shape.size() ||
          (writer_.type(input).shape.size() != 3 && writer_.type(input).shape.size() != 4))
        return rewrite_.refused("Q, K and V are not three tensors of rank 3, or of rank 4", "export the model again");
    const auto integer = [&](const char* name) { return rewrite_.integer(name, 0).value_or(-1); };
    const Shape q = writer_.type(0).shape, k = writer_.type(1).shape, v = writer_.type(2).shape;
    joined_ = q.size() == 3;
    batch_ = q[0];
    heads_ = joined_ ? integer("q_num_heads") : q[1];
    kv_heads_ = joined_ ? integer("kv_num_heads") : k[1];
    mode_ = integer("qk_matmul_output_mode");
    if (heads_ < 1 || kv_heads_ < 1 || heads_ % kv_heads_ != 0)
      return rewrite_.refused(fmt::format("the queries have {} heads, the keys {}", heads_, kv_heads_),
                              "the first must be a multiple of the second");
    if (joined_ && (q[2] % heads_ != 0 || k[2] % kv_heads_ != 0 || v[2] % kv_heads_ != 0))
      return rewrite_.refused(fmt::format("Q, K and V have {}, {} and {} columns, for {} and {} heads", q[2], k[2],
                                          v[2], heads_, kv_heads_),
                              "the columns must be multiples of the number of heads");
    if (mode_ < 0 || mode_ > 3)
      return rewrite_.refused(fmt::format("qk_matmul_output_mode is {}, expected 0 to 3", mode_), "fix the exporter");
    if (writer_.has(4) != writer_.has(5))
      return rewrite_.refused("past_key and past_value are not given together", "give both or neither");
    queries_ = q[q.size() - 2];
    if (joined_) queries_ = q[1];
    keys_ = joined_ ? k[1] : k[2];
    past_ = writer_.has(4) && writer_.type(4).shape.size() == 4 ? writer_.type(4).shape[2] : 0;
    total_ = past_ + keys_;
    size_ = joined_ ? q[2] / heads_ : q[3];
    value_size_ = joined_ ? v[2] / kv_heads_ : v[3];
    dtype_ = writer_.type(0).dtype;
    if (!is_floating(dtype_)) return rewrite_.refused("Q is not a floating-point tensor", "insert a Cast");
    return {};
  }

  ValueId op(std::string_view name, std::string_view stem, std::vector<ValueId> inputs,
             graph::Attributes attributes = {}, std::optional<DType> dtype = std::nullopt) {
    return writer_.op(name, stem, std::move(inputs), std::move(attributes),
                      graph::TensorType{dtype.value_or(dtype_), {}});
  }
  ValueId number(const char* stem, double value) { return writer_.number(stem, dtype_, value); }

  // [batch, positions, heads * size] as [batch, heads, positions, size].
  ValueId heads_first(std::size_t input, const char* stem, std::int64_t heads) {
    if (!joined_) return writer_.in(input);
    const Shape& shape = writer_.type(input).shape;
    const ValueId split = writer_.reshape(writer_.in(input), fmt::format("{}_heads", stem).c_str(),
                                          {shape[0], shape[1], heads, shape[2] / heads});
    return writer_.transpose(split, stem, {0, 2, 1, 3});
  }

  // Repeats the heads of the keys: each serves several query heads.
  ValueId repeat_heads(ValueId x, const char* stem, std::int64_t positions, std::int64_t size) {
    if (heads_ == kv_heads_) return x;
    const std::int64_t times = heads_ / kv_heads_;
    const std::string apart = fmt::format("{}_apart", stem), repeated = fmt::format("{}_repeated", stem);
    const ValueId unsqueezed = writer_.reshape(x, apart.c_str(), {batch_, kv_heads_, 1, positions, size});
    const ValueId shape = writer_.constant(fmt::format("{}_shape", repeated).c_str(),
                                           int64_list({batch_, kv_heads_, times, positions, size}));
    return writer_.reshape(op("Expand", repeated.c_str(), {unsqueezed, shape}), stem,
                           {batch_, heads_, positions, size});
  }

  // For 16-bit types, the operands are scaled before the product, which keeps it in range.
  ValueId product(ValueId q, ValueId k) {
    const double scale = graph::float_attribute(node_, "scale", 1 / std::sqrt(static_cast<double>(size_)));
    ValueId turned = writer_.transpose(k, "keys_turned", {0, 1, 3, 2});
    if (size_bytes(dtype_) == 2) {
      const ValueId root = number("root_of_scale", std::sqrt(scale));
      q = op("Mul", "q_scaled", {q, root});
      turned = op("Mul", "k_scaled", {turned, root});
      return raw_ = op("MatMul", "scores", {q, turned});
    }
    return raw_ = op("Mul", "scaled", {op("MatMul", "scores", {q, turned}), number("scale", scale)});
  }

  ValueId softcapped(ValueId scores) {
    const double cap = graph::float_attribute(node_, "softcap", 0);
    if (cap == 0) return scores;
    const ValueId limit = number("softcap", cap);
    return op("Mul", "capped", {op("Tanh", "tanh", {op("Div", "uncapped", {scores, limit})}), limit});
  }

  // The sum of what is added to the scores: attn_mask, the causal triangle, and the positions after nonpad_kv_seqlen.
  ValueId mask() {
    ValueId bias;
    const auto add = [&](ValueId more) { bias = bias.valid() ? op("Add", "bias", {bias, more}) : more; };
    const double infinity = std::numeric_limits<double>::infinity();
    const auto masked = [&](const char* stem, ValueId keeps) {
      return op("Where", stem, {keeps, number("zero", 0), number("minus_infinity", -infinity)});
    };
    if (writer_.has(3)) {
      const graph::TensorType given = writer_.type(3);
      ValueId all = writer_.in(3);
      if (const std::int64_t missing = given.shape.empty() ? 0 : total_ - given.shape.back();
          missing > 0 && given.shape.back() != 1) {
        std::vector<std::int64_t> pads(2 * given.shape.size(), 0);
        pads.back() = missing;
        const ValueId fill =
            writer_.constant("padding", scalar_of(given.dtype, given.dtype == DType::boolean ? 0 : -infinity));
        all = op("Pad", "mask", {all, writer_.constant("pads", int64_list(pads)), fill}, {}, given.dtype);
      }
      if (given.dtype == DType::boolean) all = masked("mask_bias", all);
      else if (given.dtype != dtype_) all = writer_.cast(all, "mask_cast", dtype_);
      add(all);
    }
    if (rewrite_.integer("is_causal", 0).value_or(0) != 0) {
      NdArray triangle(dtype_, {queries_, total_});
      for (std::int64_t row = 0; row < queries_; ++row)
        for (std::int64_t column = 0; column < total_; ++column)
          triangle.set_double(row * total_ + column, column > row + past_ ? -infinity : 0);
      add(writer_.constant("causal", std::move(triangle)));
    }
    if (writer_.has(6)) {
      NdArray places(DType::int64, {1, 1, 1, total_});
      for (std::int64_t i = 0; i < total_; ++i) places.set_int64(i, i);
      const ValueId lengths =
          op("Reshape", "lengths", {writer_.in(6), writer_.constant("lengths_shape", int64_list({batch_, 1, 1, 1}))},
             {}, DType::int64);
      const ValueId keeps =
          op("Less", "not_padding", {writer_.constant("places", std::move(places)), lengths}, {}, DType::boolean);
      add(masked("padding_bias", keeps));
    }
    return bias;
  }

  ValueId softmax(ValueId scores) {
    const std::int64_t requested = rewrite_.integer("softmax_precision", 0).value_or(0);
    const DType precision = dtype_from_onnx(static_cast<int>(requested)).value_or(dtype_);
    const graph::Attributes last{{"axis", std::int64_t{-1}}};
    if (precision == dtype_) return op("Softmax", "weights", {scores}, last);
    const ValueId weights = op("Softmax", "precise", {writer_.cast(scores, "scores_cast", precision)}, last, precision);
    return writer_.cast(weights, "weights", dtype_);
  }

  // The node becomes the last step.
  void finish(ValueId weights, ValueId v) {
    const DType value_dtype = writer_.type(2).dtype;
    if (value_dtype != dtype_) v = writer_.cast(v, "value_cast", dtype_);
    std::string last = "MatMul";
    std::vector<ValueId> inputs{weights, v};
    if (joined_) {
      const ValueId y = op("MatMul", "y", inputs);
      inputs = {writer_.transpose(y, "y_heads", {0, 2, 1, 3}),
                writer_.constant("y_shape", int64_list({batch_, queries_, heads_ * value_size_}))};
      last = "Reshape";
    }
    writer_.finish(last, std::move(inputs));
  }

  Rewrite& rewrite_;
  NodeWriter writer_;
  const graph::Node& node_;  // as imported
  bool joined_ = false;      // heads and their elements share an axis
  std::int64_t batch_ = 0, heads_ = 0, kv_heads_ = 0, queries_ = 0, keys_ = 0, past_ = 0, total_ = 0, size_ = 0,
               value_size_ = 0, mode_ = 0;
  DType dtype_ = DType::float32;
  ValueId raw_;  // the scores before anything is added
};

}  // namespace

Result<void> expand_attention(Rewrite& rewrite) { return Attention(rewrite).run(); }

}  // namespace dovetail::import
