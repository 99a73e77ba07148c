#include "compiler/import/expand_qoperators.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "compiler/import/normalize.h"

namespace dovetail::import {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Where the scales of a tensor may vary.
enum class Along : std::uint8_t { outputs, rows, columns, nothing };

struct Read {
  int position;  // position of the tensor; its scale and zero point follow
  const char* stem;
  Along along = Along::nothing;
};

// A tensor and its quantization parameters are adjacent: x, x_scale, x_zero_point.
struct Form {
  std::string_view op;
  std::string_view product;  // the operator between DequantizeLinear and QuantizeLinear
  std::vector<Read> reads;
  int condition = -1;  // position of an input that is passed through before the tensors
  int y = -1;          // position of the result's scale; its zero point follows. If optional and absent: float result
  int bias = -1;       // position of an int32 bias in steps of x_scale * w_scale, optional
  std::size_t inputs = 0;  // maximum
  bool omits = false;      // zero points may be omitted
  std::int64_t opset = 0;  // attributes follow this operator set; 0: the newest
};

const std::vector<Form>& forms() {
  static const std::vector<Form> table = [] {
    std::vector<Form> rows{
        {"QLinearConv", "Conv", {{0, "x"}, {3, "w", Along::outputs}}, -1, 6, 8, 9},
        {"com.microsoft.QLinearConv", "Conv", {{0, "x"}, {3, "w", Along::outputs}}, -1, 6, 8, 9},
        {"QLinearMatMul", "MatMul", {{0, "x", Along::rows}, {3, "w", Along::columns}}, -1, 6, -1, 8},
        {"com.microsoft.QGemm", "Gemm", {{0, "a"}, {3, "b", Along::columns}}, -1, 7, 6, 9, true},
        {"com.microsoft.QLinearWhere", "Where", {{1, "x"}, {4, "y"}}, 0, 7, -1, 9, true},
        {"com.microsoft.QLinearReduceMean", "ReduceMean", {{0, "x"}}, -1, 3, -1, 5, true, 13},
    };
    for (const auto& [op, product] :
         {std::pair{"com.microsoft.QLinearAdd", "Add"}, std::pair{"com.microsoft.QLinearMul", "Mul"}})
      rows.push_back({op, product, {{0, "a"}, {3, "b"}}, -1, 6, -1, 8, true});
    for (const auto& [op, product] : {std::pair{"com.microsoft.QLinearSigmoid", "Sigmoid"},
                                      std::pair{"com.microsoft.QLinearLeakyRelu", "LeakyRelu"},
                                      std::pair{"com.microsoft.QLinearSoftmax", "Softmax"},
                                      std::pair{"com.microsoft.QLinearAveragePool", "AveragePool"},
                                      std::pair{"com.microsoft.QLinearGlobalAveragePool", "GlobalAveragePool"}})
      rows.push_back({op, product, {{0, "x"}}, -1, 3, -1, 5, true});
    return rows;
  }();
  return table;
}
constexpr std::string_view kConcat = "com.microsoft.QLinearConcat";
// com.microsoft's Quantize- and DequantizeLinear, older than 16-bit steps in ONNX's.
constexpr std::string_view kQuantize = "com.microsoft.QuantizeLinear", kDequantize = "com.microsoft.DequantizeLinear";
constexpr std::string_view kIntegerToFloat = "com.microsoft.MatMulIntegerToFloat",
                           kDynamicMatMul = "com.microsoft.DynamicQuantizeMatMul";
constexpr std::array kOthers{kConcat, kQuantize, kDequantize, kIntegerToFloat, kDynamicMatMul};

class Expansion {
 public:
  Expansion(Graph& graph, NodeId id) : graph_(graph), id_(id), node_(graph.node(id)) {}

  Result<std::vector<NodeId>> run() {
    DOVETAIL_TRY(check_attributes());
    if (node_.op == kQuantize || node_.op == kDequantize) {
      graph_.edit(id_)->op = node_.op == kQuantize ? "QuantizeLinear" : "DequantizeLinear";
      return std::vector<NodeId>{id_};
    }
    if (node_.op == kIntegerToFloat || node_.op == kDynamicMatMul) return dynamic_product();
    if (node_.op == kConcat) return concatenation();
    return known_form(*std::ranges::find(forms(), std::string_view(node_.op), &Form::op));
  }

 private:
  Diagnostic refused(std::string why, std::string hint = "export the model again") const {
    return {fmt::format("cannot import {}", node_.op), node_.name, std::move(why), std::move(hint)};
  }
  bool has(int input) const {
    return input >= 0 && static_cast<std::size_t>(input) < node_.inputs.size() &&
           node_.inputs[static_cast<std::size_t>(input)].valid();
  }
  ValueId in(int input) const { return node_.inputs[static_cast<std::size_t>(input)]; }
  const graph::TensorType& type(int input) const { return graph_.value(in(input)).type; }
  std::int64_t rank(int input) const { return static_cast<std::int64_t>(type(input).shape.size()); }

  Result<std::vector<NodeId>> known_form(const Form& form) {
    const bool is_gemm = form.product == "Gemm";
    DOVETAIL_TRY(check_inputs(form));
    std::vector<ValueId> inputs;
    if (form.condition >= 0) inputs.push_back(in(form.condition));
    for (const Read& read : form.reads) inputs.push_back(dequantize(read, axis_of(form, read)));
    if (has(form.bias)) {
      DOVETAIL_ASSIGN(const ValueId bias,
                      dequantize_bias(form, is_gemm ? graph::float_attribute(node_, "alpha", 1) : 1.0));
      inputs.push_back(bias);
    }
    if (is_gemm && !has(form.y)) return float_result("Gemm", std::move(inputs));
    return quantized_result(std::string(form.product), std::move(inputs), form.y, form.reads[0].position, form.opset);
  }

  // Checks the attributes that are read here; the others are checked with the operator that receives them.
  Result<void> check_attributes() const {
    const auto kind = [&](const char* name, auto example) {
      const auto found = node_.attributes.find(name);
      return found == node_.attributes.end() || std::holds_alternative<decltype(example)>(found->second);
    };
    for (const char* name : {"channels_last", "opset", "transB"})
      if (!kind(name, std::int64_t{})) return refused(fmt::format("attribute {} is not an integer", name));
    if (!kind("alpha", double{})) return refused("attribute alpha is not a number");
    return {};
  }

  Result<void> check_inputs(const Form& form) const {
    if (node_.outputs.size() != 1 || node_.inputs.size() > form.inputs)
      return refused(fmt::format("the node has {} inputs and {} outputs; expected at most {} and 1",
                                 node_.inputs.size(), node_.outputs.size(), form.inputs));
    std::vector<int> needed;
    for (const Read& read : form.reads)
      needed.insert(needed.end(), {read.position, read.position + 1}),
          form.omits ? void() : needed.push_back(read.position + 2);
    if (form.condition >= 0) needed.push_back(form.condition);
    if (form.product != "Gemm" || has(form.y + 1)) needed.push_back(form.y);
    if (!form.omits) needed.push_back(form.y + 1);
    for (const int input : needed)
      if (!has(input))
        return refused(fmt::format("input {} is missing", input),
                       form.omits ? "only zero points may be omitted" : "only the bias may be omitted");
    return {};
  }

  std::int64_t axis_of(const Form& form, const Read& read) const {
    switch (read.along) {
      case Along::outputs: return 0;
      case Along::rows: return rank(read.position) - 2;
      case Along::columns:
        return form.product == "Gemm" && graph::int_attribute(node_, "transB", 0) != 0 ? 0 : rank(read.position) - 1;
      case Along::nothing: break;
    }
    return 0;
  }

  // y_scale, y_zero_point, then x, x_scale, x_zero_point of each part.
  Result<std::vector<NodeId>> concatenation() {
    if (node_.inputs.size() < 4 || node_.outputs.size() != 1)
      return refused(fmt::format("the node has {} inputs and {} outputs; expected at least 4 and 1",
                                 node_.inputs.size(), node_.outputs.size()));
    std::vector<ValueId> inputs;
    for (int first = 2; static_cast<std::size_t>(first) < node_.inputs.size(); first += 3) {
      if (!has(first) || !has(first + 1))
        return refused(fmt::format("input {} is missing", has(first) ? first + 1 : first),
                       "only zero points may be omitted");
      inputs.push_back(dequantize({first, "x"}, 0));
    }
    return quantized_result("Concat", std::move(inputs), 0, 2, 0);
  }

  // The node becomes `op` on `inputs` with a separate float result, followed by a QuantizeLinear that yields the
  // quantized result.
  Result<std::vector<NodeId>> quantized_result(std::string op, std::vector<ValueId> inputs, int y, int x,
                                               std::int64_t opset) {
    const ValueId result = node_.outputs[0];
    const ValueId real = graph_.add_value(graph_.value(result).name + "/float", {DType::float32, {}});
    graph_.value(result).producer = {};
    graph_.value(real).producer = id_;
    become(std::move(op), std::move(inputs), {real});
    // Channels-last images: ONNX's pools need the channels second.
    const auto rank_of_x = rank(x);
    ValueId quantized = real;
    if (const auto last = graph_.node(id_).attributes.find("channels_last");
        last != graph_.node(id_).attributes.end()) {
      const bool channels_last = last->second == graph::Attribute{std::int64_t{1}};
      graph_.edit(id_)->attributes.erase(last);
      if (channels_last) quantized = around_transposes(rank_of_x, real);
    }
    if (graph_.node(id_).op == "Softmax") {
      opset = graph::int_attribute(node_, "opset", 13);
      graph_.edit(id_)->attributes.erase("opset");
    }
    if (opset == 0) {
      nodes_.push_back(id_);
    } else {
      DOVETAIL_TRY(infer_dequantized());
      DOVETAIL_ASSIGN(const std::vector<NodeId> normal, normalize(graph_, id_, opset));
      nodes_.insert(nodes_.end(), normal.begin(), normal.end());
    }
    if (transposed_.valid()) nodes_.push_back(transposed_);
    std::vector<ValueId> quantize{quantized, scalar(in(y))};
    if (has(y + 1)) {
      quantize.push_back(scalar(in(y + 1)));
    } else {  // QuantizeLinear's default is uint8, this operator's is the type of its input
      NdArray zero(type(x).dtype, {});
      quantize.push_back(graph_.add_constant(node_.name + "/zero_point", std::move(zero)));
    }
    add("QuantizeLinear", "quantize", std::move(quantize), result, -2);
    return std::move(nodes_);
  }

  // normalize() reads ranks; those of dequantized tensors are known.
  Result<void> infer_dequantized() {
    for (ValueId input : graph_.node(id_).inputs) {
      const NodeId producer = graph_.value(input).producer;
      if (producer.valid() && graph_.node(producer).op == "DequantizeLinear")
        graph_.value(input).type.shape = graph_.value(graph_.node(producer).inputs[0]).type.shape;
    }
    return {};
  }

  ValueId around_transposes(std::int64_t rank, ValueId real) {
    std::vector<std::int64_t> first{0, rank - 1}, last{0};
    for (std::int64_t i = 1; i + 1 < rank; ++i) first.push_back(i), last.push_back(i + 1);
    last.push_back(1);
    const ValueId image = graph_.add_value(node_.name + "/channels_first", {DType::float32, {}}),
                  result = graph_.add_value(node_.name + "/channels_last", {DType::float32, {}});
    const ValueId x = graph_.node(id_).inputs[0];
    nodes_.push_back(add_node("Transpose", "channels_first", {x}, image, {{"perm", first}}));
    graph_.edit(id_)->inputs[0] = image;
    transposed_ = add_node("Transpose", "channels_last", {real}, result, {{"perm", last}});
    return result;
  }

  Result<std::vector<NodeId>> float_result(std::string op, std::vector<ValueId> inputs) {
    become(std::move(op), std::move(inputs), node_.outputs);
    nodes_.push_back(id_);
    return std::move(nodes_);
  }

  void become(std::string op, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
    const graph::NodeEdit product = graph_.edit(id_);
    product->op = std::move(op);
    product->inputs = std::move(inputs);
    product->outputs = std::move(outputs);
  }

  // A, B and B's scale: the exact integer product, then float. A is a float quantized here (DynamicQuantizeMatMul), or
  // has its own scale.
  Result<std::vector<NodeId>> dynamic_product() {
    const bool quantizes = node_.op == kDynamicMatMul;
    const int b_scale = quantizes ? 2 : 3, a_zero = quantizes ? -1 : 4, b_zero = quantizes ? 3 : 5,
              bias = quantizes ? 4 : 6;
    for (const int input : {0, 1, 2, b_scale})
      if (!has(input))
        return refused(fmt::format("input {} is missing", input), "only zero points and the bias may be omitted");
    if (node_.outputs.size() != 1)
      return refused(fmt::format("the node has {} outputs; expected 1", node_.outputs.size()));
    ValueId a = in(0), a_scale = quantizes ? ValueId{} : scalar(in(2)),
            a_zero_point = has(a_zero) ? in(a_zero) : ValueId{};
    if (quantizes) {
      a = graph_.add_value(node_.name + "/a", {DType::uint8, {}});
      a_scale = graph_.add_value(node_.name + "/a_scale", {DType::float32, {}});
      a_zero_point = graph_.add_value(node_.name + "/a_zero_point", {DType::uint8, {}});
      Node dynamic;
      dynamic.name = graph_.unique_node_name(node_.name + "/quantize");
      dynamic.op = "DynamicQuantizeLinear";
      dynamic.inputs = {in(0)};
      dynamic.outputs = {a, a_scale, a_zero_point};
      dynamic.origins = node_.origins;
      nodes_.push_back(graph_.add_node(std::move(dynamic)));
    }
    const auto real = [&](const char* stem) {
      return graph_.add_value(fmt::format("{}/{}", node_.name, stem), {DType::float32, {}});
    };
    const ValueId sums = graph_.add_value(node_.name + "/sums", {DType::int32, {}}), cast = real("real"),
                  scale = real("scale"), result = node_.outputs[0];
    graph_.value(result).producer = {};
    graph_.value(sums).producer = id_;
    std::vector<ValueId> inputs{a, in(1), a_zero_point, has(b_zero) ? in(b_zero) : ValueId{}};
    while (!inputs.back().valid()) inputs.pop_back();
    become("MatMulInteger", std::move(inputs), {sums});
    nodes_.push_back(id_);
    nodes_.push_back(add_node("Cast", "cast", {sums}, cast, {{"to", std::int64_t{info(DType::float32).onnx}}}));
    nodes_.push_back(add_node("Mul", "scale", {a_scale, in(b_scale)}, scale, {}));
    const ValueId scaled = has(bias) ? real("scaled") : result;
    nodes_.push_back(add_node("Mul", "scaled", {cast, scale}, scaled, {}));
    if (has(bias)) nodes_.push_back(add_node("Add", "bias", {scaled, in(bias)}, result, {}));
    return std::move(nodes_);
  }

  // A single number, whatever its shape, means per tensor; Quantize- and DequantizeLinear require a scalar for that.
  ValueId scalar(ValueId id) {
    const auto& constant = graph_.value(id).constant;
    if (!constant || constant->count() != 1 || constant->rank() == 0) return id;
    NdArray array = constant->reshaped({});
    return graph_.add_constant(graph_.value(id).name + "/scalar", std::move(array));
  }

  NodeId add_node(std::string op, std::string_view stem, std::vector<ValueId> inputs, ValueId output,
                  graph::Attributes attributes) {
    Node node;
    node.name = graph_.unique_node_name(fmt::format("{}/{}", node_.name, stem));
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    node.origins = node_.origins;
    return graph_.add_node(std::move(node));
  }
  void add(std::string op, std::string_view stem, std::vector<ValueId> inputs, ValueId output, std::int64_t axis) {
    graph::Attributes attributes;
    if (!graph_.value(inputs[1]).type.shape.empty()) attributes["axis"] = axis;
    nodes_.push_back(add_node(std::move(op), stem, std::move(inputs), output, std::move(attributes)));
  }

  ValueId dequantize(const Read& read, std::int64_t axis) {
    const ValueId output = graph_.add_value(fmt::format("{}/{}", node_.name, read.stem), {DType::float32, {}});
    std::vector<ValueId> inputs{in(read.position), scalar(in(read.position + 1))};
    if (has(read.position + 2)) inputs.push_back(scalar(in(read.position + 2)));
    add("DequantizeLinear", read.stem, std::move(inputs), output, axis);
    return output;
  }

  // The bias counts steps of x_scale * w_scale (times Gemm's alpha).
  Result<ValueId> dequantize_bias(const Form& form, double factor) {
    const auto &x = graph_.value(in(form.reads[0].position + 1)).constant,
               &w = graph_.value(in(form.reads[1].position + 1)).constant;
    if (!x || !w || x->count() != 1)
      return refused("the node has a bias, but its scales are not constants", "fold constants before export");
    NdArray scale(DType::float32, w->count() == 1 ? Shape{} : Shape{w->count()});
    for (std::int64_t i = 0; i < scale.count(); ++i) scale.set_double(i, factor * x->as_double(0) * w->as_double(i));
    const ValueId scales = graph_.add_constant(fmt::format("{}/bias_scale", node_.name), std::move(scale));
    const ValueId output = graph_.add_value(fmt::format("{}/bias", node_.name), {DType::float32, {}});
    // Conv's bias has one axis; Gemm's C may have leading rows.
    add("DequantizeLinear", "bias", {in(form.bias), scales}, output, std::max<std::int64_t>(rank(form.bias) - 1, 0));
    return output;
  }

  Graph& graph_;
  const NodeId id_;
  const Node node_;  // as imported
  std::vector<NodeId> nodes_;
  NodeId transposed_;
};

}  // namespace

bool is_qoperator(std::string_view op) {
  return std::ranges::find(forms(), op, &Form::op) != forms().end() ||
         std::find(kOthers.begin(), kOthers.end(), op) != kOthers.end();
}

std::vector<std::string_view> qoperators() {
  std::vector<std::string_view> ops(kOthers.begin(), kOthers.end());
  for (const Form& form : forms()) ops.push_back(form.op);
  std::ranges::sort(ops);
  return ops;
}

Result<std::vector<NodeId>> expand_qoperator(Graph& graph, NodeId node) { return Expansion(graph, node).run(); }

}  // namespace dovetail::import
