// ONNX Runtime's contributed attention operators, rewritten to ONNX's own Attention on heads, which
// normalize_attention.cpp expands. Masks become numbers that are added to the scores.
#include <limits>

#include "compiler/import/domain_rows.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

constexpr double kMaskFilter = -10000;  // added to masked scores, unless the node gives another value

std::vector<std::int64_t> counted(std::int64_t count) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(i);
  return values;
}
NdArray places(const Shape& shape) { return int64_list(counted(element_count(shape))).reshaped(shape); }

ValueId sliced(NodeWriter& writer, ValueId x, std::string_view stem, std::int64_t axis, std::int64_t begin,
               std::int64_t end, const graph::TensorType& type) {
  return writer.op(
      "Slice", stem,
      {x, writer.integers(fmt::format("{}_from", stem), {begin}), writer.integers(fmt::format("{}_to", stem), {end}),
       writer.integers(fmt::format("{}_axis", stem), {axis})},
      {}, type);
}

// [batch, positions, heads * size] as [batch, heads, positions, size].
ValueId heads_first(NodeWriter& writer, ValueId x, std::string_view stem, const Shape& heads) {
  const ValueId apart = writer.reshape(x, fmt::format("{}_heads", stem), {heads[0], heads[2], heads[1], heads[3]});
  return writer.transpose(apart, stem, {0, 2, 1, 3});
}

// The sum of the terms added to the scores; invalid while there are none.
struct ScoreBias {
  NodeWriter& writer;
  DType dtype;
  ValueId sum = {};

  void add(ValueId more) { sum = sum.valid() ? writer.op("Add", "score_bias", {sum, more}, {}, grown()) : more; }
  // `filter` where `keeps` is false.
  void add_mask(ValueId keeps, std::string_view stem, double filter, const Shape& shape) {
    add(writer.op("Where", stem, {keeps, writer.number("kept", dtype, 0), writer.number("filtered", dtype, filter)}, {},
                  graph::TensorType{dtype, shape}));
  }
  // Masks the positions after `past + query`.
  void add_causal(std::int64_t queries, std::int64_t total, std::int64_t past) {
    NdArray triangle(dtype, {queries, total});
    for (std::int64_t q = 0; q < queries; ++q)
      for (std::int64_t t = past + q + 1; t < total; ++t)
        triangle.set_double(q * total + t, -std::numeric_limits<double>::infinity());
    add(writer.constant("causal", std::move(triangle)));
  }

 private:
  // Before types are inferred, only the last extent (the number of keys) is read.
  graph::TensorType grown() const { return {dtype, writer.rewrite().graph.value(sum).type.shape}; }
};

// A mask input: the number of leading positions, start and end positions, or a flag per position.
Result<void> add_padding_mask(NodeWriter& writer, ScoreBias& bias, std::size_t input, std::int64_t batch,
                              std::int64_t queries, std::int64_t past, std::int64_t total) {
  if (!writer.has(input)) return {};
  const double filter = writer.real("mask_filter_value", kMaskFilter);
  const Shape shape = writer.shape(input);
  const DType dtype = writer.type(input).dtype;
  if (shape == Shape{batch} || (shape == Shape{2 * batch} && batch > 0)) {
    const ValueId place = writer.constant("mask_places", [&] {
      NdArray array(dtype, {1, 1, 1, total});
      for (std::int64_t t = 0; t < total; ++t) array.set_int64(t, t);
      return array;
    }());
    const auto bound = [&](const char* stem, std::int64_t from) {
      return writer.reshape(
          sliced(writer, writer.in(input), fmt::format("{}_of_mask", stem), 0, from, from + batch, {dtype, {batch}}),
          stem, {batch, 1, 1, 1});
    };
    ValueId keeps = writer.op("Less", "before_end", {place, bound("mask_end", 0)});
    if (shape != Shape{batch}) {
      const ValueId begun = writer.op("GreaterOrEqual", "from_start", {place, bound("mask_start", batch)});
      keeps = writer.op("And", "within", {keeps, begun});
    }
    bias.add_mask(keeps, "padding", filter, {batch, 1, 1, total});
    return {};
  }
  const std::int64_t rows = shape.size() == 3 ? queries : 1;
  ValueId flags = writer.in(input);
  if (shape.size() == 4 && shape[0] == batch && shape[1] == 1 && shape[2] >= past + queries && shape[3] >= total) {
    const Shape some{batch, 1, queries, shape[3]};
    flags = sliced(writer, flags, "mask_rows", 2, past, past + queries, {dtype, some});
    flags = sliced(writer, flags, "mask_columns", 3, 0, total, {dtype, {batch, 1, queries, total}});
  } else if (shape == Shape{batch, total} || shape == Shape{batch, queries, total}) {
    flags = writer.reshape(flags, "mask_flags", {batch, 1, rows, total});
  } else {
    return writer.refused(
        fmt::format("the mask has shape {}, for batch {}, {} queries and {} keys", to_string(shape), batch, queries,
                    total),
        "supported shapes: [batch] lengths, [2 * batch] ends and starts, [batch, keys] and [batch, queries, keys] "
        "flags");
  }
  const ValueId keeps = writer.op("Greater", "mask_kept", {flags, writer.number("mask_zero", dtype, 0)});
  bias.add_mask(keeps, "mask", filter, {batch, 1, shape.size() == 4 ? queries : rows, total});
  return {};
}

// The node becomes Attention on heads; a node after it assembles the result.
Result<void> finish_attention(NodeWriter& writer, ValueId q, ValueId k, ValueId v, const ScoreBias& bias,
                              const Shape& joined, graph::Attributes attributes) {
  Rewrite& rewrite = writer.rewrite();
  const graph::Node& node = writer.node();
  const ValueId result = node.outputs[0];
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (!writer.is_used(i)) rewrite.graph.value(node.outputs[i]).producer = {};
  const ValueId heads = rewrite.graph.add_value(node.name + "/y_heads", {bias.dtype, {}}),
                turned = rewrite.graph.add_value(node.name + "/y_turned", {bias.dtype, {}});
  {
    const graph::NodeEdit edit = rewrite.edit();
    edit->op = "Attention";
    edit->inputs = {q, k, v};
    if (bias.sum.valid()) edit->inputs.push_back(bias.sum);
    edit->outputs = {heads};
    edit->attributes = std::move(attributes);
  }
  rewrite.graph.value(result).producer = {};
  rewrite.graph.value(heads).producer = rewrite.id;
  const ValueId shape = writer.integers("y_shape", joined);
  rewrite.after.push_back(
      rewrite.add("Transpose", "y_turned", {heads}, {turned}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}));
  rewrite.after.push_back(rewrite.add("Reshape", "y", {turned, shape}, {result}));
  return expand_attention(rewrite);
}

graph::Attributes scale_of(const NodeWriter& writer) {
  const double scale = writer.real("scale", 0);
  return scale == 0 ? graph::Attributes{} : graph::Attributes{{"scale", scale}};
}

Result<void> refuse_options(const NodeWriter& writer,
                            std::initializer_list<std::pair<const char*, std::string_view>> options) {
  for (const auto& [name, hint] : options)
    if (const std::int64_t value = writer.integer(name, 0); value != 0)
      return writer.refused(fmt::format("{} = {} is not supported", name, value), std::string(hint));
  return {};
}
constexpr std::string_view kNoSharing = "export without a buffer shared by past and present",
                           kNoRotary = "export the rotary embedding as a separate operator";

// ---- Attention, QAttention: one product computes queries, keys and values

struct Projected {
  ValueId value;  // [batch, positions, query + key + value columns]
  std::int64_t batch, positions, columns;
  DType dtype;
  std::size_t mask, past, bias;  // input positions; `bias` is added to the scores; kNoInput: absent
};
constexpr std::size_t kNoInput = 99;

Result<void> attend_projected(NodeWriter& writer, const Projected& x) {
  DOVETAIL_TRY(refuse_options(writer, {{"past_present_share_buffer", kNoSharing}, {"do_rotary", kNoRotary}}));
  const std::int64_t heads = writer.integer("num_heads", 0);
  std::vector<std::int64_t> columns = graph::ints_attribute(writer.node(), "qkv_hidden_sizes", {});
  if (columns.empty()) columns = {x.columns / 3, x.columns / 3, x.columns / 3};
  if (heads < 1 || columns.size() != 3 || columns[0] + columns[1] + columns[2] != x.columns ||
      columns[0] != columns[1] || columns[0] % heads != 0 || columns[2] % heads != 0 || columns[0] < 1)
    return writer.refused(
        fmt::format("the queries, keys and values have {} columns, for {} heads", x.columns, heads),
        "queries and keys must have equally many columns, and each count must be a multiple of num_heads");
  const std::int64_t size = columns[0] / heads, value_size = columns[2] / heads;
  ValueId parts[3];
  constexpr const char* kNames[] = {"q", "k", "v"};
  std::int64_t from = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const ValueId part = sliced(writer, x.value, fmt::format("{}_columns", kNames[i]), 2, from, from + columns[i],
                                {x.dtype, {x.batch, x.positions, columns[i]}});
    from += columns[i];
    parts[i] = heads_first(writer, part, kNames[i], {x.batch, heads, x.positions, i == 2 ? value_size : size});
  }
  std::int64_t past = 0;
  if (writer.has(x.past)) {
    const Shape shape = writer.shape(x.past);
    if (shape.size() != 5 || shape[0] != 2 || shape[1] != x.batch || shape[2] != heads || shape[4] != size ||
        size != value_size)
      return writer.refused(
          fmt::format("past has shape {}", to_string(shape)),
          fmt::format("expected [2, {}, {}, positions, {}], with values as wide as keys", x.batch, heads, size));
    past = shape[3];
    for (const std::size_t i : {1, 2}) {
      const graph::TensorType before{x.dtype, {x.batch, heads, past, size}};
      const ValueId which =
          writer.number(i == 1 ? "past_keys" : "past_values", DType::int64, static_cast<double>(i - 1));
      const ValueId held = writer.op("Gather", fmt::format("past_{}", kNames[i]), {writer.in(x.past), which},
                                     {{"axis", std::int64_t{0}}}, before);
      parts[i] = writer.op("Concat", fmt::format("all_{}", kNames[i]), {held, parts[i]}, {{"axis", std::int64_t{2}}},
                           graph::TensorType{x.dtype, {x.batch, heads, past + x.positions, size}});
    }
  }
  const std::int64_t total = past + x.positions;
  if (writer.is_used(1)) {
    if (size != value_size)
      return writer.refused("output present is used, but values are not as wide as keys", "do not use output 1");
    std::vector<ValueId> both;
    for (const std::size_t i : {1, 2})
      both.push_back(writer.reshape(parts[i], fmt::format("present_{}", kNames[i]), {1, x.batch, heads, total, size}));
    writer.give(1, writer.op("Concat", "present", std::move(both), {{"axis", std::int64_t{0}}}));
  }
  ScoreBias bias{writer, x.dtype};
  DOVETAIL_TRY(add_padding_mask(writer, bias, x.mask, x.batch, x.positions, past, total));
  if (writer.has(x.bias)) bias.add(writer.in(x.bias));
  if (writer.integer("unidirectional", 0) != 0) bias.add_causal(x.positions, total, past);
  return finish_attention(writer, parts[0], parts[1], parts[2], bias, {x.batch, x.positions, columns[2]},
                          scale_of(writer));
}

// Checks that input and weight fit; returns the number of columns of their product.
Result<std::int64_t> projection_columns(const NodeWriter& writer) {
  const Shape x = writer.shape(0), w = writer.shape(1);
  if (x.size() == 3 && w.size() == 2 && x[2] == w[0]) return std::int64_t{w[1]};
  return writer.refused(fmt::format("input has shape {}, weight {}", to_string(x), to_string(w)),
                        "they must be [batch, positions, columns] and [columns, query + key + value columns]");
}

Result<void> write_attention(NodeWriter& writer) {
  DOVETAIL_ASSIGN(const std::int64_t columns, projection_columns(writer));
  const graph::TensorType x = writer.type(0), type{x.dtype, {x.shape[0], x.shape[1], columns}};
  ValueId projected = writer.op("MatMul", "projected", {writer.in(0), writer.in(1)}, {}, type);
  if (writer.has(2)) projected = writer.op("Add", "projected_bias", {projected, writer.in(2)}, {}, type);
  return attend_projected(writer, {projected, x.shape[0], x.shape[1], columns, x.dtype, 3, 4, 5});
}

// input, weight, bias, input_scale, weight_scale, mask_index, input_zero_point, weight_zero_point, past.
Result<void> write_quantized_attention(NodeWriter& writer) {
  for (const std::size_t scale : {3, 4})
    if (!writer.has(scale))
      return writer.refused(fmt::format("input {} ({}) is missing", scale, scale == 3 ? "input_scale" : "weight_scale"),
                            "the inputs are input, weight, bias, input_scale, weight_scale, mask_index, "
                            "input_zero_point, weight_zero_point, past; an omitted bias has an empty name");
  DOVETAIL_ASSIGN(const std::int64_t columns, projection_columns(writer));
  const Shape x = writer.shape(0);
  const graph::TensorType type{DType::float32, {x[0], x[1], columns}};
  std::vector<ValueId> operands{writer.in(0), writer.in(1), writer.has(6) ? writer.in(6) : ValueId{},
                                writer.has(7) ? writer.in(7) : ValueId{}};
  while (!operands.back().valid()) operands.pop_back();
  const ValueId sums = writer.op("MatMulInteger", "sums", std::move(operands), {}, graph::TensorType{DType::int32, {}});
  const ValueId scale = writer.op("Mul", "scale", {writer.in(3), writer.in(4)});
  ValueId projected = writer.op("Mul", "projected", {writer.cast(sums, "real", DType::float32), scale}, {}, type);
  if (writer.has(2)) projected = writer.op("Add", "projected_bias", {projected, writer.in(2)}, {}, type);
  return attend_projected(writer, {projected, x[0], x[1], columns, DType::float32, 5, 8, kNoInput});
}

// ---- MultiHeadAttention

struct HeadForm {
  std::int64_t batch, queries, keys, heads, size, value_size;
};

// Part `i` of an input [batch, heads, positions, parts, size], as [batch, heads, positions, size].
ValueId unpacked_part(NodeWriter& writer, std::size_t input, std::int64_t i, std::string_view stem) {
  const Shape s = writer.shape(input);
  const DType dtype = writer.type(input).dtype;
  const ValueId part = sliced(writer, writer.in(input), fmt::format("{}_packed", stem), 3, i, i + 1,
                              {dtype, {s[0], s[1], s[2], 1, s[4]}});
  return writer.transpose(writer.reshape(part, fmt::format("{}_part", stem), {s[0], s[1], s[2], s[4]}), stem,
                          {0, 2, 1, 3});
}

// Queries, keys and values as [batch, heads, positions, size], in whichever of the accepted layouts they are given.
Result<HeadForm> read_heads(NodeWriter& writer, ValueId parts[3]) {
  const std::int64_t heads = writer.integer("num_heads", 0);
  const Shape q = writer.shape(0), k = writer.has(1) ? writer.shape(1) : Shape{},
              v = writer.has(2) ? writer.shape(2) : Shape{};
  const auto refused = [&] {
    return writer.refused(
        fmt::format("query has shape {}, key {} and value {}, for {} heads", to_string(q), to_string(k), to_string(v),
                    heads),
        "the shapes must be [batch, positions, heads * size], or packed as [batch, positions, heads, 2 or 3, "
        "size], or keys and values [batch, heads, positions, size]");
  };
  if (heads < 1) return refused();
  HeadForm form{q.empty() ? 0 : q[0], q.size() < 2 ? 0 : q[1], 0, heads, 0, 0};
  const bool has_bias = writer.has(3);
  const auto biased = [&](ValueId x, std::string_view stem, std::int64_t from, const graph::TensorType& type) {
    if (!has_bias) return x;
    const std::int64_t columns = type.shape[2];
    return writer.op("Add", fmt::format("{}_biased", stem),
                     {x, sliced(writer, writer.in(3), fmt::format("{}_bias", stem), 0, from, from + columns,
                                {type.dtype, {columns}})},
                     {}, type);
  };
  const bool packed = q.size() == 5 || k.size() == 5;
  if (packed && has_bias)
    return writer.refused("a bias is not supported with packed queries, keys and values",
                          "unpack them, or add the bias before the node");
  if (q.size() == 5) {
    if (writer.has(1) || writer.has(2) || q[2] != heads || q[3] != 3) return refused();
    form.keys = q[1], form.size = form.value_size = q[4];
    for (std::int64_t i = 0; i < 3; ++i) parts[i] = unpacked_part(writer, 0, i, i == 0 ? "q" : i == 1 ? "k" : "v");
    return form;
  }
  if (q.size() != 3 || q[2] % heads != 0 || !writer.has(1)) return refused();
  form.size = q[2] / heads;
  parts[0] = heads_first(writer, biased(writer.in(0), "q", 0, writer.type(0)), "q",
                         {form.batch, heads, form.queries, form.size});
  if (k.size() == 5) {
    if (writer.has(2) || k[2] != heads || k[3] != 2 || k[4] != form.size || k[0] != form.batch) return refused();
    form.keys = k[1], form.value_size = k[4];
    for (std::int64_t i = 0; i < 2; ++i) parts[i + 1] = unpacked_part(writer, 1, i, i == 0 ? "k" : "v");
    return form;
  }
  if (!writer.has(2) || k.size() != v.size() || k[0] != form.batch || v[0] != form.batch) return refused();
  if (k.size() == 4) {
    if (k[1] != heads || v[1] != heads || k[3] != form.size || k[2] != v[2]) return refused();
    form.keys = k[2], form.value_size = v[3];
    parts[1] = writer.in(1), parts[2] = writer.in(2);
    return form;
  }
  if (k.size() != 3 || k[2] != q[2] || v[2] % heads != 0 || k[1] != v[1]) return refused();
  form.keys = k[1], form.value_size = v[2] / heads;
  parts[1] = heads_first(writer, biased(writer.in(1), "k", q[2], writer.type(1)), "k",
                         {form.batch, heads, form.keys, form.size});
  parts[2] = heads_first(writer, biased(writer.in(2), "v", 2 * q[2], writer.type(2)), "v",
                         {form.batch, heads, form.keys, form.value_size});
  return form;
}

// query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value.
Result<void> write_multi_head_attention(NodeWriter& writer) {
  if (writer.is_used(3))
    return writer.refused("output 3 (the scores) is used, but not supported", "do not use output 3");
  ValueId parts[3];
  DOVETAIL_ASSIGN(const HeadForm form, read_heads(writer, parts));
  if (writer.has(6) != writer.has(7))
    return writer.refused("past_key and past_value are not given together", "give both or neither");
  const DType dtype = writer.type(0).dtype;
  std::int64_t past = 0;
  for (const std::size_t i : {1, 2}) {
    if (!writer.has(i + 5)) continue;
    const Shape shape = writer.shape(i + 5);
    const std::int64_t size = i == 1 ? form.size : form.value_size;
    if (shape.size() != 4 || shape[0] != form.batch || shape[1] != form.heads || shape[3] != size)
      return writer.refused(fmt::format("input {} has shape {}", i + 5, to_string(shape)),
                            fmt::format("expected [{}, {}, positions, {}]", form.batch, form.heads, size));
    past = shape[2];
    parts[i] =
        writer.op("Concat", i == 1 ? "all_k" : "all_v", {writer.in(i + 5), parts[i]}, {{"axis", std::int64_t{2}}},
                  graph::TensorType{dtype, {form.batch, form.heads, past + form.keys, size}});
  }
  for (const std::size_t i : {1, 2})
    if (writer.is_used(i)) writer.give(i, parts[i]);
  const std::int64_t total = past + form.keys;
  ScoreBias bias{writer, dtype};
  DOVETAIL_TRY(add_padding_mask(writer, bias, 4, form.batch, form.queries, past, total));
  if (writer.has(5)) bias.add(writer.in(5));
  if (writer.integer("unidirectional", 0) != 0) bias.add_causal(form.queries, total, past);
  return finish_attention(writer, parts[0], parts[1], parts[2], bias,
                          {form.batch, form.queries, form.heads * form.value_size}, scale_of(writer));
}

// ---- GroupQueryAttention

// Rotates the first columns of each head of `x`, [batch, heads, positions, size], by the cache rows at `positions`.
ValueId rotated(NodeWriter& writer, ValueId x, std::string_view stem, ValueId cos, ValueId sin, ValueId positions,
                std::int64_t turned, const graph::TensorType& type) {
  graph::Attributes attributes{{"interleaved", writer.integer("rotary_interleaved", writer.integer("interleaved", 0))}};
  if (turned != type.shape.back()) attributes["rotary_embedding_dim"] = turned;
  return writer.op("RotaryEmbedding", stem, {x, cos, sin, positions}, std::move(attributes), type);
}

class GroupQuery {
 public:
  explicit GroupQuery(NodeWriter& writer) : writer_(writer) {}

  Result<void> run() {
    DOVETAIL_TRY(refuse_options(
        writer_, {{"smooth_softmax", "export without smooth_softmax"}, {"qk_output", "do not use output 3"}}));
    if (writer_.has(11))
      return writer_.refused("head_sink is given, but not supported", "export without attention sinks");
    if (writer_.is_used(3))
      return writer_.refused("output 3 (the scores) is used, but not supported", "do not use output 3");
    DOVETAIL_TRY(read_shapes());
    ValueId q, k, v;
    read_parts(q, k, v);
    const ValueId starts = prompt_ ? ValueId{} : past_lengths();
    if (writer_.integer("do_rotary", 0) != 0) DOVETAIL_TRY(rotate(q, k, starts));
    if (!prompt_) {
      k = appended(k, 3, "present_k", starts);
      v = appended(v, 4, "present_v", starts);
    }
    if (writer_.is_used(1)) writer_.give(1, k);
    if (writer_.is_used(2)) writer_.give(2, v);
    ScoreBias bias{writer_, dtype_};
    // For queries after the end of their sequence, a window may exclude every key: the filter is finite so that these
    // rows do not become NaN.
    const double lowest = dtype_ == DType::float16 ? -65504 : -std::numeric_limits<float>::max();
    bias.add_mask(kept(starts), "causal", lowest, {batch_, 1, queries_, total_});
    if (writer_.has(10)) bias.add(writer_.in(10));
    graph::Attributes attributes = scale_of(writer_);
    if (const double cap = writer_.real("softcap", 0); cap != 0) attributes["softcap"] = cap;
    return finish_attention(writer_, q, k, v, bias, {batch_, queries_, heads_ * size_}, std::move(attributes));
  }

 private:
  Result<void> read_shapes() {
    const Shape q = writer_.shape(0);
    heads_ = writer_.integer("num_heads", 0), kv_heads_ = writer_.integer("kv_num_heads", 0);
    packed_ = !writer_.has(1);
    dtype_ = writer_.type(0).dtype;
    if (q.size() != 3 || heads_ < 1 || kv_heads_ < 1 || heads_ % kv_heads_ != 0 || packed_ == writer_.has(2))
      return writer_.refused(
          fmt::format("query has shape {}, for {} and {} heads", to_string(q), heads_, kv_heads_),
          "query must be [batch, positions, columns]; num_heads must be a multiple of kv_num_heads; key and "
          "value must both be given, or be packed into query");
    batch_ = q[0], queries_ = q[1];
    const std::int64_t all_heads = packed_ ? heads_ + 2 * kv_heads_ : heads_;
    size_ = q[2] / all_heads;
    bool fits = size_ >= 1 && q[2] == size_ * all_heads;
    for (const std::size_t i : {1, 2})
      fits = fits && (packed_ || writer_.shape(i) == Shape{batch_, queries_, kv_heads_ * size_});
    if (writer_.has(3) != writer_.has(4) || !writer_.has(5) || writer_.shape(5) != Shape{batch_}) fits = false;
    for (const std::size_t i : {3, 4})
      if (fits && writer_.has(i)) {
        const Shape past = writer_.shape(i);
        fits = past.size() == 4 && past[0] == batch_ && past[1] == kv_heads_ && past[3] == size_ &&
               past == writer_.shape(3);
        past_ = fits ? past[2] : 0;
      }
    if (!fits)
      return writer_.refused(
          "the shapes of query, key, value, past and seqlens_k do not match",
          "key and value must be [batch, positions, kv_num_heads * size], past [batch, kv_num_heads, "
          "positions, size], seqlens_k [batch]");
    const NdArray* given = writer_.constant_input(6);
    const std::int64_t total = given != nullptr && given->count() == 1 ? given->as_int64(0) : past_ + queries_;
    if (total < queries_ || total > past_ + queries_)
      return writer_.refused(
          fmt::format("total_sequence_length is {}, with {} positions and a past of {}", total, queries_, past_),
          fmt::format("it must be between {} and {}", queries_, past_ + queries_));
    total_ = std::max(past_, total);
    prompt_ = queries_ == total && past_ == 0;
    return {};
  }

  void read_parts(ValueId& q, ValueId& k, ValueId& v) {
    ValueId parts[3] = {writer_.in(0), packed_ ? writer_.in(0) : writer_.in(1),
                        packed_ ? writer_.in(0) : writer_.in(2)};
    const std::int64_t counts[3] = {heads_, kv_heads_, kv_heads_};
    constexpr const char* kNames[3] = {"q", "k", "v"};
    for (std::int64_t i = 0, from = 0; i < 3; ++i) {
      const std::int64_t columns = counts[i] * size_;
      if (packed_)
        parts[i] = sliced(writer_, parts[i], fmt::format("{}_columns", kNames[i]), 2, from, from + columns,
                          {dtype_, {batch_, queries_, columns}});
      from += columns;
      parts[i] = heads_first(writer_, parts[i], kNames[i], {batch_, counts[i], queries_, size_});
    }
    q = parts[0], k = parts[1], v = parts[2];
  }

  // The number of past positions, [batch, 1, 1, 1]: seqlens_k is the total number minus one.
  ValueId past_lengths() {
    const ValueId last = writer_.cast(writer_.in(5), "last_places", DType::int64);
    const ValueId lengths = writer_.op(
        "Add", "past_lengths", {last, writer_.number("less_new", DType::int64, static_cast<double>(1 - queries_))}, {},
        graph::TensorType{DType::int64, {batch_}});
    return writer_.reshape(lengths, "starts", {batch_, 1, 1, 1});
  }

  // The positions of the queries, [batch, queries].
  ValueId query_places(ValueId starts) {
    const ValueId counted_from_0 = writer_.constant("query_places", places({1, queries_}));
    const ValueId shape = writer_.integers("positions_shape", {batch_, queries_});
    if (!starts.valid()) return writer_.op("Expand", "positions", {counted_from_0, shape});
    return writer_.op("Add", "positions", {counted_from_0, writer_.reshape(starts, "first_positions", {batch_, 1})});
  }

  Result<void> rotate(ValueId& q, ValueId& k, ValueId starts) {
    if (!writer_.has(7) || !writer_.has(8) || writer_.shape(7).size() != 2)
      return writer_.refused("do_rotary is given without cos_cache and sin_cache of rank 2", "give both");
    const std::int64_t turned = 2 * writer_.shape(7)[1];
    const ValueId positions = writer_.has(9) ? writer_.in(9) : query_places(starts);
    q = rotated(writer_, q, "q_rotated", writer_.in(7), writer_.in(8), positions, turned,
                {dtype_, {batch_, heads_, queries_, size_}});
    k = rotated(writer_, k, "k_rotated", writer_.in(7), writer_.in(8), positions, turned,
                {dtype_, {batch_, kv_heads_, queries_, size_}});
    return {};
  }

  // The past with the new positions inserted at `starts`; later positions keep the past's values, or 0.
  ValueId appended(ValueId fresh, std::size_t past, std::string_view stem, ValueId starts) {
    const graph::TensorType whole{dtype_, {batch_, kv_heads_, total_, size_}};
    const auto named = [&](std::string_view what) { return fmt::format("{}_{}", stem, what); };
    ValueId held = writer_.in(past);
    if (total_ > past_)
      held = writer_.op("Pad", named("room"),
                        {held, writer_.integers(named("pads"), {0, 0, 0, 0, 0, 0, total_ - past_, 0})}, {}, whole);
    const ValueId place =
        writer_.op("Sub", named("places"), {writer_.constant(named("all"), places({1, 1, total_, 1})), starts});
    const ValueId first = writer_.number(named("first"), DType::int64, 0),
                  last = writer_.number(named("last"), DType::int64, static_cast<double>(queries_ - 1));
    const ValueId is_new = writer_.op("And", named("is_new"),
                                      {writer_.op("GreaterOrEqual", named("begun"), {place, first}),
                                       writer_.op("LessOrEqual", named("before_end"), {place, last})});
    const ValueId shape = writer_.integers(named("shape"), whole.shape);
    const ValueId element =
        writer_.op("Expand", named("elements"), {writer_.op("Clip", named("within"), {place, first, last}), shape});
    const ValueId spread =
        writer_.op("GatherElements", named("spread"), {fresh, element}, {{"axis", std::int64_t{2}}}, whole);
    return writer_.op("Where", stem, {is_new, spread, held}, {}, whole);
  }

  // Whether a query attends to a key: keys at its own position and earlier ones, within the window and its sequence.
  ValueId kept(ValueId starts) {
    const std::int64_t window = writer_.integer("local_window_size", -1);
    if (prompt_) {
      NdArray flags(DType::boolean, {1, 1, queries_, total_});
      for (std::int64_t s = 0; s < queries_; ++s)
        for (std::int64_t t = 0; t < total_; ++t)
          flags.set_int64(s * total_ + t, t <= s && (window <= 0 || t > s - window));
      const ValueId causal = writer_.constant("kept", std::move(flags));
      const ValueId lasts =
          writer_.reshape(writer_.cast(writer_.in(5), "last_places", DType::int64), "lasts", {batch_, 1, 1, 1});
      const ValueId place = writer_.constant("key_places", places({1, 1, 1, total_}));
      return writer_.op("And", "kept_of_sequence", {causal, writer_.op("LessOrEqual", "in_sequence", {place, lasts})});
    }
    const ValueId place = writer_.constant("key_places", places({1, 1, 1, total_}));
    const ValueId own =
        writer_.op("Add", "own_places", {writer_.constant("query_rows", places({1, 1, queries_, 1})), starts});
    const ValueId causal = writer_.op("LessOrEqual", "before", {place, own});
    if (window <= 0) return causal;
    const ValueId least =
        writer_.op("Sub", "window_start", {own, writer_.number("window", DType::int64, static_cast<double>(window))});
    return writer_.op("And", "in_window", {causal, writer_.op("Greater", "reached", {place, least})});
  }

  NodeWriter& writer_;
  std::int64_t batch_ = 0, queries_ = 0, heads_ = 0, kv_heads_ = 0, size_ = 0, past_ = 0, total_ = 0;
  bool packed_ = false, prompt_ = false;
  DType dtype_ = DType::float32;
};

Result<void> write_group_query_attention(NodeWriter& writer) { return GroupQuery(writer).run(); }

// ---- RotaryEmbedding

// input, position_ids, cos_cache, sin_cache. position_ids: one per position, or only the first position.
Result<void> write_rotary_embedding(NodeWriter& writer) {
  DOVETAIL_TRY(refuse_options(writer, {{"is_packed_batching", "export without packed batches"}}));
  if (writer.real("scale", 1) != 1)
    return writer.refused(fmt::format("scale is {}", writer.real("scale", 1)), "only scale = 1 is supported");
  const Shape x = writer.shape(0), cache = writer.shape(2), ids = writer.shape(1);
  const std::int64_t given = writer.integer("rotary_embedding_dim", 0), heads = writer.integer("num_heads", 0);
  if ((x.size() != 3 && x.size() != 4) || cache.size() != 2 || cache[1] < 1)
    return writer.refused(
        fmt::format("input has shape {}, the caches {}", to_string(x), to_string(cache)),
        "they must be [batch, positions, columns] or [batch, heads, positions, size], and [rows, columns]");
  graph::Attributes attributes{{"interleaved", writer.integer("interleaved", 0)}};
  if (x.size() == 3) attributes["num_heads"] = heads > 0 ? heads : x[2] / (2 * cache[1]);
  if (given > 0) attributes["rotary_embedding_dim"] = given;
  const std::int64_t batch = x[0], positions = x.size() == 3 ? x[1] : x[2];
  ValueId rows = writer.in(1);
  if (element_count(ids) == 1 && ids != Shape{batch, positions}) {
    const ValueId first = writer.reshape(rows, "first_position", {1, 1});
    const ValueId one = writer.op("Add", "positions", {writer.constant("places", places({1, positions})), first});
    rows = writer.op("Expand", "all_positions", {one, writer.integers("positions_shape", {batch, positions})});
  }
  writer.finish("RotaryEmbedding", {writer.in(0), writer.in(2), writer.in(3), rows}, std::move(attributes));
  return {};
}

}  // namespace

std::vector<DomainRow> contrib_attention_rows() {
  constexpr auto integer = ops::AttributeKind::integer, real = ops::AttributeKind::real;
  constexpr auto required = ops::Presence::required;
  const std::vector<ops::AttributeRule> projected{{"do_rotary", integer},
                                                  {"mask_filter_value", real},
                                                  {"num_heads", integer, required},
                                                  {"past_present_share_buffer", integer},
                                                  {"qkv_hidden_sizes", ops::AttributeKind::integers},
                                                  {"rotary_embedding_dim", integer},
                                                  {"scale", real},
                                                  {"unidirectional", integer}};
  return {
      {"com.microsoft.Attention", write_attention, projected, 6, 2},
      {"com.microsoft.QAttention", write_quantized_attention, projected, 9, 2},
      {"com.microsoft.MultiHeadAttention",
       write_multi_head_attention,
       {{"mask_filter_value", real}, {"num_heads", integer, required}, {"scale", real}, {"unidirectional", integer}},
       8,
       1},
      {"com.microsoft.GroupQueryAttention",
       write_group_query_attention,
       {{"do_rotary", integer},
        {"kv_num_heads", integer, required},
        {"local_window_size", integer},
        {"num_heads", integer, required},
        {"qk_output", integer},
        {"rotary_interleaved", integer},
        {"scale", real},
        {"smooth_softmax", integer},
        {"softcap", real}},
       12,
       1,
       {5, 6}},
      {"com.microsoft.RotaryEmbedding",
       write_rotary_embedding,
       {{"interleaved", integer},
        {"is_packed_batching", integer},
        {"num_heads", integer},
        {"rotary_embedding_dim", integer},
        {"scale", real}},
       4,
       4}};
}

}  // namespace dovetail::import
