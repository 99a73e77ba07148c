// ONNX's Attention (operator sets 23 and 24) written out in MatMul, Softmax and operators that move data, as its
// definition has it: what recognize_attention and the matrix kernels know how to run fast.
#include <array>
#include <cmath>
#include <limits>

#include "compiler/import/rewrite.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

class Attention {
 public:
  explicit Attention(Rewrite& rewrite) : rewrite_(rewrite), node_(rewrite.node()) {}

  Result<void> run() {
    DOVETAIL_TRY(check());
    const ValueId q = heads_first(0, "q", heads_);
    ValueId k = heads_first(1, "k", kv_heads_), v = heads_first(2, "v", kv_heads_);
    if (has(4)) {
      k = op("Concat", "key", {in(4), k}, {{"axis", std::int64_t{2}}});
      v = op("Concat", "value", {in(5), v}, {{"axis", std::int64_t{2}}});
    }
    if (wants(1)) give(1, k);
    if (wants(2)) give(2, v);
    k = repeat_heads(k, "keys", total_, size_);
    v = repeat_heads(v, "values", total_, value_size_);
    ValueId scores = softcapped(product(q, k));
    const ValueId capped = scores;
    if (const ValueId bias = mask(); bias.valid()) scores = op("Add", "masked", {scores, bias});
    const ValueId weights = softmax(scores);
    if (wants(3)) give(3, std::array{raw_, capped, scores, weights}[static_cast<std::size_t>(mode_)]);
    finish(weights, v);
    return {};
  }

 private:
  bool has(std::size_t input) const { return input < node_.inputs.size() && node_.inputs[input].valid(); }
  ValueId in(std::size_t input) const { return node_.inputs[input]; }
  const graph::TensorType& type(std::size_t input) { return rewrite_.graph.value(in(input)).type; }
  bool wants(std::size_t output) const {
    return output < node_.outputs.size() &&
           (rewrite_.graph.is_output(node_.outputs[output]) || !rewrite_.graph.users(node_.outputs[output]).empty());
  }

  Result<void> check() {
    for (std::size_t input : {0, 1, 2})
      if (!has(input) || type(input).shape.size() != type(0).shape.size() ||
          (type(input).shape.size() != 3 && type(input).shape.size() != 4))
        return rewrite_.refused("Q, K and V are not three tensors of rank 3, or of rank 4", "export the model again");
    const auto integer = [&](const char* name) { return rewrite_.integer(name, 0).value_or(-1); };
    const Shape q = type(0).shape, k = type(1).shape, v = type(2).shape;
    joined_ = q.size() == 3;
    batch_ = q[0];
    heads_ = joined_ ? integer("q_num_heads") : q[1];
    kv_heads_ = joined_ ? integer("kv_num_heads") : k[1];
    mode_ = integer("qk_matmul_output_mode");
    if (heads_ < 1 || kv_heads_ < 1 || heads_ % kv_heads_ != 0)
      return rewrite_.refused(fmt::format("{} heads of the queries for {} of the keys", heads_, kv_heads_),
                              "the first must be a multiple of the second");
    if (joined_ && (q[2] % heads_ != 0 || k[2] % kv_heads_ != 0 || v[2] % kv_heads_ != 0))
      return rewrite_.refused(
          fmt::format("{}, {} and {} elements for {} and {} heads", q[2], k[2], v[2], heads_, kv_heads_),
          "they must be multiples");
    if (mode_ < 0 || mode_ > 3)
      return rewrite_.refused(fmt::format("qk_matmul_output_mode is {}, allowed are 0 to 3", mode_),
                              "fix the exporter");
    if (has(4) != has(5))
      return rewrite_.refused("past_key and past_value are not given together", "give both or none");
    queries_ = q[q.size() - 2];
    if (joined_) queries_ = q[1];
    keys_ = joined_ ? k[1] : k[2];
    past_ = has(4) && type(4).shape.size() == 4 ? type(4).shape[2] : 0;
    total_ = past_ + keys_;
    size_ = joined_ ? q[2] / heads_ : q[3];
    value_size_ = joined_ ? v[2] / kv_heads_ : v[3];
    dtype_ = type(0).dtype;
    if (!is_floating(dtype_)) return rewrite_.refused("Q is no floating-point tensor", "insert a Cast");
    return {};
  }

  ValueId op(const char* name, const char* stem, std::vector<ValueId> inputs, graph::Attributes attributes = {},
             std::optional<DType> dtype = std::nullopt) {
    const ValueId result =
        rewrite_.graph.add_value(fmt::format("{}/{}", node_.name, stem), {dtype.value_or(dtype_), {}});
    rewrite_.before.push_back(rewrite_.add(name, stem, std::move(inputs), {result}, std::move(attributes)));
    return result;
  }
  ValueId constant(const char* stem, NdArray array) {
    return rewrite_.graph.add_constant(fmt::format("{}/{}", node_.name, stem), std::move(array));
  }
  ValueId reshape(ValueId x, const char* stem, const Shape& shape) {
    return op("Reshape", stem, {x, constant(fmt::format("{}_shape", stem).c_str(), int64_list(shape))});
  }
  ValueId transpose(ValueId x, const char* stem, std::vector<std::int64_t> perm) {
    return op("Transpose", stem, {x}, {{"perm", std::move(perm)}});
  }
  ValueId number(const char* stem, double value) { return constant(stem, scalar_of(dtype_, value)); }

  // Output `position` of the node, as an Identity of the value.
  void give(std::size_t position, ValueId value) {
    const ValueId output = node_.outputs[position];
    rewrite_.graph.value(output).producer = {};
    rewrite_.before.push_back(rewrite_.add("Identity", "output", {value}, {output}));
  }

  // [batch, positions, heads * size] as [batch, heads, positions, size].
  ValueId heads_first(std::size_t input, const char* stem, std::int64_t heads) {
    if (!joined_) return in(input);
    const Shape& shape = type(input).shape;
    const ValueId split =
        reshape(in(input), fmt::format("{}_heads", stem).c_str(), {shape[0], shape[1], heads, shape[2] / heads});
    return transpose(split, stem, {0, 2, 1, 3});
  }

  // Each head of the keys serves several of the queries.
  ValueId repeat_heads(ValueId x, const char* stem, std::int64_t positions, std::int64_t size) {
    if (heads_ == kv_heads_) return x;
    const std::int64_t times = heads_ / kv_heads_;
    const std::string apart = fmt::format("{}_apart", stem), repeated = fmt::format("{}_repeated", stem);
    const ValueId unsqueezed = reshape(x, apart.c_str(), {batch_, kv_heads_, 1, positions, size});
    const ValueId shape =
        constant(fmt::format("{}_shape", repeated).c_str(), int64_list({batch_, kv_heads_, times, positions, size}));
    return reshape(op("Expand", repeated.c_str(), {unsqueezed, shape}), stem, {batch_, heads_, positions, size});
  }

  // 16-bit products are scaled before they are formed, which keeps them small.
  ValueId product(ValueId q, ValueId k) {
    const double scale = graph::float_attribute(node_, "scale", 1 / std::sqrt(static_cast<double>(size_)));
    ValueId turned = transpose(k, "keys_turned", {0, 1, 3, 2});
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

  // What is added to the scores: attn_mask, the causal triangle, and the places behind nonpad_kv_seqlen.
  ValueId mask() {
    ValueId bias;
    const auto add = [&](ValueId more) { bias = bias.valid() ? op("Add", "bias", {bias, more}) : more; };
    const double infinity = std::numeric_limits<double>::infinity();
    const auto masked = [&](const char* stem, ValueId keeps) {
      return op("Where", stem, {keeps, number("zero", 0), number("minus_infinity", -infinity)});
    };
    if (has(3)) {
      const graph::TensorType given = type(3);
      ValueId all = in(3);
      if (const std::int64_t missing = given.shape.empty() ? 0 : total_ - given.shape.back();
          missing > 0 && given.shape.back() != 1) {
        std::vector<std::int64_t> pads(2 * given.shape.size(), 0);
        pads.back() = missing;
        const ValueId fill = constant("padding", scalar_of(given.dtype, given.dtype == DType::boolean ? 0 : -infinity));
        all = op("Pad", "mask", {all, constant("pads", int64_list(pads)), fill}, {}, given.dtype);
      }
      if (given.dtype == DType::boolean) all = masked("mask_bias", all);
      else if (given.dtype != dtype_) all = cast(all, "mask_cast", dtype_);
      add(all);
    }
    if (rewrite_.integer("is_causal", 0).value_or(0) != 0) {
      NdArray triangle(dtype_, {queries_, total_});
      for (std::int64_t row = 0; row < queries_; ++row)
        for (std::int64_t column = 0; column < total_; ++column)
          triangle.set_double(row * total_ + column, column > row + past_ ? -infinity : 0);
      add(constant("causal", std::move(triangle)));
    }
    if (has(6)) {
      NdArray places(DType::int64, {1, 1, 1, total_});
      for (std::int64_t i = 0; i < total_; ++i) places.set_int64(i, i);
      const ValueId lengths =
          op("Reshape", "lengths", {in(6), constant("lengths_shape", int64_list({batch_, 1, 1, 1}))}, {}, DType::int64);
      const ValueId keeps =
          op("Less", "not_padding", {constant("places", std::move(places)), lengths}, {}, DType::boolean);
      add(masked("padding_bias", keeps));
    }
    return bias;
  }

  ValueId cast(ValueId x, const char* stem, DType to) {
    return op("Cast", stem, {x}, {{"to", std::int64_t{info(to).onnx}}}, to);
  }

  ValueId softmax(ValueId scores) {
    const std::int64_t wanted = rewrite_.integer("softmax_precision", 0).value_or(0);
    const DType precision = dtype_from_onnx(static_cast<int>(wanted)).value_or(dtype_);
    const graph::Attributes last{{"axis", std::int64_t{-1}}};
    if (precision == dtype_) return op("Softmax", "weights", {scores}, last);
    const ValueId weights = op("Softmax", "precise", {cast(scores, "scores_cast", precision)}, last, precision);
    return cast(weights, "weights", dtype_);
  }

  // The node itself becomes the last step.
  void finish(ValueId weights, ValueId v) {
    const DType value_dtype = type(2).dtype;
    if (value_dtype != dtype_) v = cast(v, "value_cast", dtype_);
    std::string last = "MatMul";
    std::vector<ValueId> inputs{weights, v};
    if (joined_) {
      const ValueId y = op("MatMul", "y", inputs);
      inputs = {transpose(y, "y_heads", {0, 2, 1, 3}),
                constant("y_shape", int64_list({batch_, queries_, heads_ * value_size_}))};
      last = "Reshape";
    }
    const ValueId y = node_.outputs[0];
    for (std::size_t i = 1; i < node_.outputs.size(); ++i)
      if (!wants(i)) rewrite_.graph.value(node_.outputs[i]).producer = {};
    const graph::NodeEdit edit = rewrite_.edit();
    edit->op = last;
    edit->inputs = std::move(inputs);
    edit->outputs = {y};
    edit->attributes.clear();
  }

  Rewrite& rewrite_;
  const graph::Node node_;  // as imported
  bool joined_ = false;     // heads and their elements share an axis
  std::int64_t batch_ = 0, heads_ = 0, kv_heads_ = 0, queries_ = 0, keys_ = 0, past_ = 0, total_ = 0, size_ = 0,
               value_size_ = 0, mode_ = 0;
  DType dtype_ = DType::float32;
  ValueId raw_;  // the scores before anything is added
};

}  // namespace

Result<void> expand_attention(Rewrite& rewrite) { return Attention(rewrite).run(); }

}  // namespace dovetail::import
