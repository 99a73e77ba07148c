#include "compiler/import/control_flow.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "compiler/import/attributes.h"
#include "compiler/import/messages.h"
#include "compiler/import/tensor_proto.h"
#include "compiler/ops/control_flow.h"

namespace dovetail::import {
namespace {

using graph::NodeId;
using graph::ValueId;

// Limit on the nodes that the subgraphs of one model expand to: each is compiled separately.
constexpr std::int64_t kMostUnrolledNodes = 50'000;
// The same, including nodes that were removed again because a condition turned out to be data.
constexpr std::int64_t kMostAttemptedNodes = 4 * kMostUnrolledNodes;
// Captured values of at most this many elements (shapes, short lists) are made constants if possible.
constexpr std::int64_t kSmallCount = 1024;

using Scope = std::map<std::string, ValueId>;

void add_free_names(const onnx::Graph& body, const std::set<std::string>& outer_locals,
                    std::vector<std::string>& found);

void add_free_names(const onnx::Node& node, const std::set<std::string>& locals, std::vector<std::string>& found) {
  for (const onnx::Attribute& attribute : node.attributes) {
    if (attribute.g) add_free_names(*attribute.g, locals, found);
    for (const onnx::Graph& body : attribute.graphs) add_free_names(body, locals, found);
  }
}

void add_free_names(const onnx::Graph& body, const std::set<std::string>& outer_locals,
                    std::vector<std::string>& found) {
  std::set<std::string> locals = outer_locals;
  for (const onnx::ValueInfo& input : body.inputs) locals.insert(printable(input.name));
  for (const onnx::Tensor& tensor : body.initializers) locals.insert(printable(tensor.name));
  for (const onnx::Node& node : body.nodes)
    for (const std::string& output : node.outputs) locals.insert(printable(output));
  const auto use = [&](const std::string& raw) {
    const std::string name = printable(raw);
    if (!name.empty() && !locals.contains(name) && std::ranges::find(found, name) == found.end()) found.push_back(name);
  };
  for (const onnx::Node& node : body.nodes) {
    for (const std::string& input : node.inputs) use(input);
    add_free_names(node, locals, found);
  }
  for (const onnx::ValueInfo& output : body.outputs) use(output.name);
}

const onnx::Graph* subgraph(const onnx::Node& node, std::string_view name) {
  for (const onnx::Attribute& attribute : node.attributes)
    if (attribute.name == name && attribute.g) return &*attribute.g;
  return nullptr;
}

NdArray flag(bool value) {
  NdArray array(DType::boolean, {});
  array.set_int64(0, value ? 1 : 0);
  return array;
}

}  // namespace

bool is_control_flow(std::string_view op) { return op == "If" || op == "Loop" || op == "Scan"; }

// Expands one node with subgraphs.
class FlowExpansion {
 public:
  FlowExpansion(ControlFlow& flow, graph::Graph& graph, NodeId id, const ControlFlow::Importer& importer)
      : flow_(flow), graph_(graph), importer_(importer), node_(graph.node(id)), entry_(flow.entries_.at(id)) {
    for (std::size_t i = 0; i < entry_.captured.size(); ++i)
      captured_[entry_.captured[i]] = node_.inputs.at(entry_.own_inputs + i);
    node_.inputs.resize(entry_.own_inputs);
    graph_.remove_node(id);
  }

  bool run(std::int64_t opset) {
    if (node_.op == "Scan") return opset < 9 ? run_scan_8() : run_scan();
    make_constant_ = &importer_.make_constant;
    if (inlined()) return true;
    if (!depends_on_data_) return false;
    Diagnostics why_not;
    if (at_run_time(why_not)) return true;
    // A value computed from the model's inputs may still be known.
    make_constant_ = &importer_.fix;
    if (inlined()) return true;
    if (depends_on_data_)
      for (const Diagnostic& problem : why_not) importer_.report(problem);
    return false;
  }

 private:
  // Expands a body inside a subgraph; `captured` has the names of the enclosing graph.
  FlowExpansion(const FlowExpansion& outer, ControlFlow& flow, graph::Graph& subgraph,
                const ControlFlow::Importer& importer, Scope captured)
      : flow_(flow),
        graph_(subgraph),
        importer_(importer),
        node_(outer.node_),
        entry_(outer.entry_),
        captured_(std::move(captured)) {}

  // Returns false, with the graph restored (except for values that became constants), if the deciding value depends on
  // data (depends_on_data_), or an error was reported.
  bool inlined() {
    depends_on_data_ = false;
    const std::size_t before = graph_.nodes.size();
    const std::int64_t nodes_before = flow_.spent().nodes;
    if (node_.op == "If" ? run_if() : run_loop()) return true;
    for (std::size_t i = before; i < graph_.nodes.size(); ++i)
      if (!graph_.nodes[i].removed) graph_.remove_node({static_cast<std::int32_t>(i)});
    flow_.spent().nodes = nodes_before;
    return false;
  }

  bool refuse(std::string why, std::string hint) {
    importer_.report(
        {fmt::format("cannot import {} ({})", node_.name, node_.op), node_.name, std::move(why), std::move(hint)});
    return false;
  }

  bool has(std::size_t input) const { return input < node_.inputs.size() && node_.inputs[input].valid(); }

  // The value of an input that decides which nodes run; null if it depends on data (depends_on_data_), or an error was
  // reported.
  const NdArray* decided(ValueId value, std::string_view what) {
    if (!graph_.is_constant(value) && !(*make_constant_)(value).empty()) {
      depends_on_data_ = true;
      return nullptr;
    }
    const NdArray& array = *graph_.value(value).constant;
    if (array.count() == 1) return &array;
    refuse(fmt::format("{} has {} elements, expected 1", what, array.count()), "export the model again");
    return nullptr;
  }

  const onnx::Graph* body(std::string_view attribute, std::size_t inputs) {
    const onnx::Graph* found = subgraph(*entry_.proto, attribute);
    if (found == nullptr) {
      refuse(fmt::format("the node has no subgraph {}", attribute), "export the model again");
    } else if (found->inputs.size() != inputs) {
      refuse(fmt::format("subgraph {} has {} inputs, expected {}", attribute, found->inputs.size(), inputs),
             "export the model again");
      found = nullptr;
    }
    return found;
  }

  // ---- Nodes

  // Adds a node and infers its types at once; returns an invalid id if the node is rejected.
  ValueId make(std::string op, std::string_view stem, std::vector<ValueId> inputs, graph::Attributes attributes = {}) {
    const ValueId output = graph_.add_value(fmt::format("{}/{}", node_.name, stem), {});
    return make_into(std::move(op), std::move(inputs), output, std::move(attributes)) ? output : ValueId{};
  }
  bool make_into(std::string op, std::vector<ValueId> inputs, ValueId output, graph::Attributes attributes = {}) {
    graph::Node made;
    made.name = graph_.unique_node_name(graph_.value(output).name);
    made.op = std::move(op);
    made.inputs = std::move(inputs);
    made.outputs = {output};
    made.attributes = std::move(attributes);
    made.origins = node_.origins;
    return importer_.infer(graph_.add_node(std::move(made)));
  }
  ValueId constant(std::string_view stem, NdArray array) {
    return graph_.add_constant(fmt::format("{}/{}", node_.name, stem), std::move(array));
  }
  ValueId numbers(std::string_view stem, const std::vector<std::int64_t>& values) {
    return constant(stem, NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  // The node's outputs keep their names.
  bool give(std::size_t output, ValueId value) {
    return output >= node_.outputs.size() || make_into("Identity", {value}, node_.outputs[output]);
  }

  // Adds the nodes of a body once; returns its outputs, or nothing if something was reported.
  std::optional<std::vector<ValueId>> instantiate(const onnx::Graph& body, const std::vector<ValueId>& inputs,
                                                  const std::string& stem) {
    Scope scope = captured_;
    for (std::size_t i = 0; i < inputs.size(); ++i) scope[printable(body.inputs[i].name)] = inputs[i];
    for (const onnx::Tensor& tensor : body.initializers) {
      auto array =
          to_ndarray(tensor, fmt::format("{}, initializer {}", node_.name, printable(tensor.name)), flow_.external_);
      if (!array) return reported(array.errors());
      scope[printable(tensor.name)] = constant(stem + printable(tensor.name), *std::move(array));
    }
    std::set<std::string> used;
    for (const onnx::ValueInfo& output : body.outputs) used.insert(printable(output.name));
    for (const onnx::Node& proto : body.nodes) {
      for (const std::string& input : proto.inputs) used.insert(printable(input));
      for (std::string& name : ControlFlow::captured(proto)) used.insert(std::move(name));
    }
    for (const onnx::Node& proto : body.nodes)
      if (!add(proto, scope, stem, used)) return std::nullopt;
    std::vector<ValueId> outputs;
    for (const onnx::ValueInfo& output : body.outputs) {
      const auto found = scope.find(printable(output.name));
      if (found == scope.end()) {
        refuse(fmt::format("the subgraph returns {}, which is not defined", printable(output.name)),
               "the model is incomplete; export it again");
        return std::nullopt;
      }
      outputs.push_back(found->second);
    }
    return outputs;
  }

  // Counts one more node that subgraphs expand to. A loop of that many iterations can still run as one node.
  bool count_node() {
    ControlFlow::Spent& spent = flow_.spent();
    if (++spent.attempted > kMostAttemptedNodes)
      return refuse(fmt::format("the model's subgraphs expand to more than {} nodes", kMostAttemptedNodes),
                    "use fewer iterations");
    if (++spent.nodes <= kMostUnrolledNodes) return true;
    if (trips_ && *trips_ <= ops::kMostIterations) return depends_on_data_ = true, false;
    return refuse(fmt::format("the node's subgraphs expand to more than {} nodes", kMostUnrolledNodes),
                  "use fewer iterations");
  }

  std::nullopt_t reported(const Diagnostics& errors) {
    for (const Diagnostic& error : errors) importer_.report(error);
    return std::nullopt;
  }

  // Optional trailing outputs that are not among the names `used` in the body are omitted.
  bool add(const onnx::Node& proto, Scope& scope, const std::string& stem, const std::set<std::string>& used) {
    if (!count_node()) return false;
    graph::Node made;
    made.op = printable(proto.op_type);
    if (!proto.domain.empty() && proto.domain != "ai.onnx") made.op = printable(proto.domain) + "." + made.op;
    const std::string own = !proto.name.empty() ? printable(proto.name) : made.op;
    made.name = graph_.unique_node_name(fmt::format("{}/{}{}", node_.name, stem, own));
    made.origins = node_.origins;
    auto attributes = read_attributes(proto, made.name, flow_.external_);
    if (!attributes) return reported(attributes.errors()), false;
    made.attributes = *std::move(attributes);
    if (made.op == "Constant") {
      auto array = constant_value(made.attributes, made.name);
      if (!array) return reported(array.errors()), false;
      if (proto.outputs.size() == 1)
        scope[printable(proto.outputs[0])] = constant(stem + printable(proto.outputs[0]), *std::move(array));
      return true;
    }
    std::vector<std::string> names;
    for (const std::string& input : proto.inputs) names.push_back(printable(input));
    while (!names.empty() && names.back().empty()) names.pop_back();
    const std::size_t own_inputs = names.size();
    std::vector<std::string> captured;
    if (is_control_flow(made.op)) captured = ControlFlow::captured(proto);
    names.insert(names.end(), captured.begin(), captured.end());
    for (const std::string& name : names) {
      const auto found = scope.find(name);
      if (!name.empty() && found == scope.end())
        return refuse(fmt::format("{} uses {}, which is not defined before it", made.name, name),
                      "the model is incomplete; export it again");
      made.inputs.push_back(name.empty() ? ValueId{} : found->second);
    }
    std::size_t outputs = proto.outputs.size();
    while (outputs > 0 && proto.outputs[outputs - 1].empty()) --outputs;
    while (outputs > 1 && made.op != "Split" && !used.contains(printable(proto.outputs[outputs - 1]))) --outputs;
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::string name = printable(proto.outputs[i]);
      made.outputs.push_back(graph_.add_value(fmt::format("{}/{}{}", node_.name, stem, name), {}));
      scope[name] = made.outputs.back();
    }
    const std::string op = made.op;
    const NodeId id = graph_.add_node(std::move(made));
    if (is_control_flow(op)) flow_.add(id, proto, own_inputs, std::move(captured));
    return importer_.infer(id);
  }

  // ---- If

  bool run_if() {
    const NdArray* condition = has(0) ? decided(node_.inputs[0], "its condition") : nullptr;
    if (condition == nullptr) return has(0) ? false : refuse("the node has no condition", "export the model again");
    const onnx::Graph* branch = body(condition->as_int64(0) != 0 ? "then_branch" : "else_branch", 0);
    if (branch == nullptr) return false;
    const auto outputs = instantiate(*branch, {}, "");
    if (!outputs) return false;
    if (outputs->size() < node_.outputs.size())
      return refuse(fmt::format("the branch has {} outputs, but the node {}", outputs->size(), node_.outputs.size()),
                    "export the model again");
    for (std::size_t i = 0; i < outputs->size(); ++i)
      if (!give(i, (*outputs)[i])) return false;
    return true;
  }

  // ---- Loop

  bool run_loop() {
    std::optional<std::int64_t> trips;
    bool runs = true;
    trips_.reset();
    if (has(0)) {
      const NdArray* count = decided(node_.inputs[0], "its trip count");
      if (count == nullptr) return false;
      trips = trips_ = count->as_int64(0);
    }
    if (has(1)) {
      const NdArray* condition = decided(node_.inputs[1], "its condition");
      if (condition == nullptr) return false;
      runs = condition->as_int64(0) != 0;
    }
    std::vector<ValueId> carried(node_.inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(node_.inputs)),
                                 node_.inputs.end());
    const onnx::Graph* loop = body("body", carried.size() + 2);
    if (loop == nullptr) return false;
    if (loop->outputs.size() < carried.size() + 1)
      return refuse(fmt::format("the body has {} outputs for {} carried values", loop->outputs.size(), carried.size()),
                    "export the model again");
    std::vector<std::vector<ValueId>> scanned(loop->outputs.size() - carried.size() - 1);
    for (std::int64_t i = 0; runs && i < trips.value_or(INT64_MAX); ++i) {
      const std::string stem = fmt::format("{}/", i);
      std::vector<ValueId> inputs{constant(stem + "iteration", NdArray::scalar(i)),
                                  constant(stem + "runs", flag(true))};
      inputs.insert(inputs.end(), carried.begin(), carried.end());
      const auto outputs = instantiate(*loop, inputs, stem);
      if (!outputs) return false;
      const NdArray* next = decided(outputs->front(), "the condition of its next iteration");
      if (next == nullptr) return false;
      runs = next->as_int64(0) != 0;
      for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = (*outputs)[k + 1];
      for (std::size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back((*outputs)[k + 1 + carried.size()]);
      if (loop->nodes.empty() && !count_node()) return false;
    }
    for (std::size_t k = 0; k < carried.size(); ++k)
      if (!give(k, carried[k])) return false;
    for (std::size_t k = 0; k < scanned.size(); ++k)
      if (!give_stacked(carried.size() + k, scanned[k], 0, loop->outputs[k + 1 + carried.size()])) return false;
    return true;
  }

  // Gives one output: values stacked along a new axis. If there are none, the file must declare the shape of one.
  bool give_stacked(std::size_t output, const std::vector<ValueId>& parts, std::int64_t axis,
                    const onnx::ValueInfo& declared) {
    if (output >= node_.outputs.size()) return true;
    if (parts.empty()) {
      const onnx::TensorType& type = declared.tensor_type();
      const auto dtype = dtype_from_onnx(type.elem_type);
      Shape shape{0};
      for (const onnx::Dimension& dimension : declared.dims()) shape.push_back(dimension.value.value_or(-1));
      if (!dtype || !type.shape || std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; }))
        return refuse(
            fmt::format("the loop never runs, and the shape of its output {} is unknown", printable(declared.name)),
            "give the body's outputs static shapes");
      return give(output, constant("none", NdArray(*dtype, shape)));
    }
    const ValueId stacked = stack(parts, axis);
    return stacked.valid() && give(output, stacked);
  }
  ValueId stack(const std::vector<ValueId>& parts, std::int64_t axis) {
    const ValueId axes = numbers("axis", {axis});
    std::vector<ValueId> slices;
    for (const ValueId part : parts) {
      slices.push_back(make("Unsqueeze", "slice", {part, axes}));
      if (!slices.back().valid()) return {};
    }
    return slices.size() == 1 ? slices.front() : make("Concat", "stacked", slices, {{"axis", axis}});
  }

  // ---- Scan

  std::vector<std::int64_t> list(std::string_view name, std::size_t count) const {
    auto values = graph::ints_attribute(node_, name, std::vector<std::int64_t>(count, 0));
    values.resize(count, 0);
    return values;
  }
  ValueId element(ValueId value, std::int64_t axis, std::int64_t position) {
    return make("Gather", "element", {value, constant("position", NdArray::scalar(position))}, {{"axis", axis}});
  }

  // The states after all steps, and each scanned output's parts in the order of the steps.
  struct Scanned {
    std::vector<ValueId> states;
    std::vector<std::vector<ValueId>> parts;
  };
  std::optional<Scanned> scan(const onnx::Graph& body, std::vector<ValueId> states, const std::vector<ValueId>& inputs,
                              const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& directions,
                              const std::string& stem) {
    std::int64_t steps = 0;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Shape& shape = graph_.value(inputs[k]).type.shape;
      const std::int64_t rank = std::ssize(shape), axis = axes[k] < 0 ? axes[k] + rank : axes[k];
      const bool fits = axis >= 0 && axis < rank && (k == 0 || shape[static_cast<std::size_t>(axis)] == steps);
      if (!fits) {
        refuse(fmt::format("input {} of shape {} is scanned along axis {} in {} steps", k, to_string(shape), axes[k],
                           steps),
               "all scanned inputs must have the same extent along their scan axis");
        return std::nullopt;
      }
      steps = shape[static_cast<std::size_t>(axis)];
    }
    Scanned result{std::move(states), {}};
    result.parts.resize(body.outputs.size() - result.states.size());
    for (std::int64_t i = 0; i < steps; ++i) {
      std::vector<ValueId> given = result.states;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        given.push_back(element(inputs[k], axes[k], directions[k] == 0 ? i : steps - 1 - i));
        if (!given.back().valid()) return std::nullopt;
      }
      const auto outputs = instantiate(body, given, fmt::format("{}{}/", stem, i));
      if (!outputs) return std::nullopt;
      const auto scanned = outputs->begin() + std::ssize(result.states);
      for (std::size_t k = 0; k < result.parts.size(); ++k)
        result.parts[k].push_back(scanned[static_cast<std::ptrdiff_t>(k)]);
      result.states.assign(outputs->begin(), scanned);
    }
    return result;
  }

  // The node's body and how many of its inputs are states; null if something was reported.
  const onnx::Graph* scan_body(std::size_t inputs, std::size_t& states, std::size_t& scanned) {
    const std::int64_t count = graph::int_attribute(node_, "num_scan_inputs", 0);
    if (count < 1 || count > static_cast<std::int64_t>(inputs)) {
      refuse(fmt::format("num_scan_inputs is {}, but there are {} inputs", count, inputs), "export the model again");
      return nullptr;
    }
    scanned = static_cast<std::size_t>(count);
    states = inputs - scanned;
    const onnx::Graph* found = body("body", inputs);
    if (found != nullptr && found->outputs.size() < states) {
      refuse(fmt::format("the body has {} outputs for {} states", found->outputs.size(), states),
             "export the model again");
      return nullptr;
    }
    return found;
  }

  bool run_scan() {
    std::size_t states = 0, scanned = 0;
    const onnx::Graph* loop = scan_body(node_.inputs.size(), states, scanned);
    if (loop == nullptr) return false;
    const auto middle = node_.inputs.begin() + static_cast<std::ptrdiff_t>(states);
    const auto result = scan(*loop, {node_.inputs.begin(), middle}, {middle, node_.inputs.end()},
                             list("scan_input_axes", scanned), list("scan_input_directions", scanned), "");
    if (!result) return false;
    for (std::size_t k = 0; k < states; ++k)
      if (!give(k, result->states[k])) return false;
    const auto axes = list("scan_output_axes", result->parts.size()),
               directions = list("scan_output_directions", result->parts.size());
    for (std::size_t k = 0; k < result->parts.size(); ++k) {
      std::vector<ValueId> parts = result->parts[k];
      if (directions[k] != 0) std::ranges::reverse(parts);
      if (!give_stacked(states + k, parts, axes[k], loop->outputs[states + k])) return false;
    }
    return true;
  }

  // Opset 8: sequence lengths, then states and inputs with a leading batch axis; the batches run one by one.
  bool run_scan_8() {
    if (has(0))
      return refuse("sequence_lens is given: the number of steps would depend on data",
                    "export the model with opset 9 or later");
    std::size_t states = 0, scanned = 0;
    const std::vector<ValueId> inputs(node_.inputs.begin() + std::min<std::ptrdiff_t>(1, std::ssize(node_.inputs)),
                                      node_.inputs.end());
    const onnx::Graph* loop = scan_body(inputs.size(), states, scanned);
    if (loop == nullptr) return false;
    const Shape& first = graph_.value(inputs.back()).type.shape;
    const std::int64_t batches = first.empty() ? 0 : first[0];
    if (batches < 1) return refuse(fmt::format("the batch size is {}", batches), "the batch size must be at least 1");
    std::vector<std::vector<ValueId>> outputs(loop->outputs.size());
    for (std::int64_t b = 0; b < batches; ++b) {
      std::vector<ValueId> own;
      for (const ValueId input : inputs) {
        own.push_back(element(input, 0, b));
        if (!own.back().valid()) return false;
      }
      const auto middle = own.begin() + static_cast<std::ptrdiff_t>(states);
      const auto result = scan(*loop, {own.begin(), middle}, {middle, own.end()}, std::vector<std::int64_t>(scanned, 0),
                               list("directions", scanned), fmt::format("{}/", b));
      if (!result) return false;
      for (std::size_t k = 0; k < states; ++k) outputs[k].push_back(result->states[k]);
      for (std::size_t k = 0; k < result->parts.size(); ++k) {
        if (result->parts[k].empty()) return refuse("the scan has no steps", "give at least one step");
        outputs[states + k].push_back(stack(result->parts[k], 0));
        if (!outputs[states + k].back().valid()) return false;
      }
    }
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (!give_stacked(k, outputs[k], 0, loop->outputs[k])) return false;
    return true;
  }

  // ---- At run time

  struct Subgraph {
    graph::Graph graph;
    std::vector<ValueId> captured;  // values of the enclosing graph, in the order of the last inputs
  };
  // A body as a graph with its first `outputs` outputs. Its inputs are the body's own, of these types, then the values
  // that it captures. Own inputs with a value in `constants` become constants instead of inputs.
  std::optional<Subgraph> subgraph_of(const onnx::Graph& body, const std::string& name,
                                      const std::vector<graph::TensorType>& own,
                                      const std::map<std::size_t, NdArray>& constants, std::size_t outputs,
                                      Diagnostics& problems) {
    Subgraph made;
    made.graph.name = fmt::format("{}/{}", node_.name, name);
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::string stem = fmt::format("{}/{}", made.graph.name, printable(body.inputs[i].name));
      if (const auto fixed = constants.find(i); fixed != constants.end()) {
        inputs.push_back(made.graph.add_constant(stem, fixed->second));
      } else {
        inputs.push_back(made.graph.add_value(stem, own[i]));
        made.graph.inputs.push_back(inputs.back());
      }
    }
    std::vector<std::string> free;
    add_free_names(body, {}, free);
    Scope inside;
    for (const std::string& known : free) {
      const auto outer = captured_.find(known);
      if (outer == captured_.end()) continue;  // its user is reported
      const ValueId value = outer->second;
      const graph::TensorType type = graph_.value(value).type;
      if (!graph_.is_constant(value) && !is_floating(type.dtype) && element_count(type.shape) <= kSmallCount)
        importer_.make_constant(value);
      if (graph_.is_constant(value)) {
        inside[known] = made.graph.add_constant(graph_.value(value).name, *graph_.value(value).constant);
        continue;
      }
      inside[known] = made.graph.add_value(graph_.value(value).name, type);
      made.graph.inputs.push_back(inside[known]);
      made.captured.push_back(value);
    }
    ControlFlow flow = flow_.for_subgraph();
    bool complete = false;
    const Diagnostics found = importer_.in_subgraph(made.graph, flow, [&](const ControlFlow::Importer& importer) {
      FlowExpansion expansion(*this, flow, made.graph, importer, std::move(inside));
      complete = expansion.fill(body, inputs, name + "/", outputs);
    });
    problems.insert(problems.end(), found.begin(), found.end());
    if (!complete || !found.empty()) return std::nullopt;
    made.graph.compact();
    return made;
  }

  // Every output of a subgraph is a separate value that a node computes, or a constant.
  bool fill(const onnx::Graph& body, const std::vector<ValueId>& inputs, const std::string& stem, std::size_t count) {
    const auto outputs = instantiate(body, inputs, stem);
    if (!outputs) return false;
    if (outputs->size() < count)
      return refuse(fmt::format("{} has {} outputs, but must have {}", graph_.name, outputs->size(), count),
                    "export the model again");
    for (std::size_t i = 0; i < count; ++i) {
      ValueId value = (*outputs)[i];
      if (importer_.has_extent(value))
        return refuse(fmt::format("{} returns %{}, whose number of elements depends on data", graph_.name,
                                  graph_.value(value).name),
                      "return a tensor of fixed size, for example a mask, and select from it after the node");
      if (graph_.is_output(value) || !graph_.value(value).producer.valid())
        value = make("Identity", stem + "output", {value});
      if (!value.valid()) return false;
      graph_.outputs.push_back(value);
    }
    return true;
  }

  // Replaces the model's node by a node with subgraphs. Returns false if `problems` report why not.
  bool place(graph::Node made, Diagnostics& problems) {
    made.name = node_.name;
    made.origins = node_.origins;
    const NodeId id = graph_.add_node(std::move(made));
    if (auto inferred = ops::infer(graph_, id); !inferred) {
      problems.insert(problems.end(), inferred.errors().begin(), inferred.errors().end());
      graph_.remove_node(id);
      return false;
    }
    return importer_.infer(id);
  }

  bool at_run_time(Diagnostics& problems) {
    if (flow_.depth_ == graph::kMostNested)
      return refuse(fmt::format("subgraphs selected by data are nested more than {} deep", graph::kMostNested),
                    "nest fewer subgraphs");
    return node_.op == "If" ? if_at_run_time(problems) : loop_at_run_time(problems);
  }

  bool if_at_run_time(Diagnostics& problems) {
    graph::Node made;
    made.op = ops::kIf;
    made.inputs = {node_.inputs[0]};
    made.outputs = node_.outputs;
    for (const char* const branch : {"then", "else"}) {
      const onnx::Graph* const found = body(std::string(branch) + "_branch", 0);
      if (found == nullptr) return false;
      auto subgraph = subgraph_of(*found, branch, {}, {}, node_.outputs.size(), problems);
      if (!subgraph) return false;
      made.inputs.insert(made.inputs.end(), subgraph->captured.begin(), subgraph->captured.end());
      made.subgraphs.push_back(std::make_shared<const graph::Graph>(std::move(subgraph->graph)));
    }
    return place(std::move(made), problems);
  }

  bool loop_at_run_time(Diagnostics& problems) {
    const std::vector<ValueId> carried(node_.inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(node_.inputs)),
                                       node_.inputs.end());
    const onnx::Graph* const found = body("body", carried.size() + 2);
    if (found == nullptr) return false;
    std::vector<graph::TensorType> own{{DType::int64, {}}, {DType::boolean, {}}};
    for (const ValueId value : carried) own.push_back(graph_.value(value).type);
    // Trailing scanned outputs that are unused are not computed.
    const std::size_t scanned = node_.outputs.size() - std::min(node_.outputs.size(), carried.size());
    auto subgraph = subgraph_of(*found, "body", own, {{1, flag(true)}}, 1 + carried.size() + scanned, problems);
    if (!subgraph) return false;
    graph::Node made;
    made.op = ops::kLoop;
    const bool limits_itself = trips_ && *trips_ >= 0 && *trips_ <= ops::kMostIterations;
    made.attributes = {{"carried", static_cast<std::int64_t>(carried.size())},
                       {"limit", limits_itself ? *trips_ : flow_.loop_limit_}};
    made.inputs = {has(0) ? node_.inputs[0] : ValueId{}, has(1) ? node_.inputs[1] : ValueId{}};
    made.inputs.insert(made.inputs.end(), carried.begin(), carried.end());
    made.inputs.insert(made.inputs.end(), subgraph->captured.begin(), subgraph->captured.end());
    while (!made.inputs.empty() && !made.inputs.back().valid()) made.inputs.pop_back();
    made.outputs = node_.outputs;
    const auto unused = [&](std::string_view stem) {
      made.outputs.push_back(graph_.add_value(fmt::format("{}/{}", node_.name, stem), {}));
    };
    while (made.outputs.size() < carried.size()) unused("carried");
    if (scanned > 0) unused("iterations");
    made.subgraphs.push_back(std::make_shared<const graph::Graph>(std::move(subgraph->graph)));
    return place(std::move(made), problems);
  }

  ControlFlow& flow_;
  graph::Graph& graph_;
  const ControlFlow::Importer& importer_;
  graph::Node node_;
  const ControlFlow::Entry entry_;
  Scope captured_;
  const std::function<std::string(ValueId)>* make_constant_ = nullptr;  // evaluates the deciding value
  bool depends_on_data_ = false;                                        // the deciding value is data
  std::optional<std::int64_t> trips_;                                   // the trip count of a Loop, if constant
};

ControlFlow ControlFlow::for_subgraph() const {
  ControlFlow inner(external_, loop_limit_);
  inner.spent_ = spent_;
  inner.depth_ = depth_ + 1;
  return inner;
}

std::vector<std::string> ControlFlow::captured(const onnx::Node& proto) {
  std::vector<std::string> found;
  add_free_names(proto, {}, found);
  return found;
}

void ControlFlow::add(NodeId node, const onnx::Node& proto, std::size_t own_inputs, std::vector<std::string> captured) {
  entries_.emplace(node, Entry{&proto, own_inputs, std::move(captured)});
}

bool ControlFlow::expand(graph::Graph& graph, NodeId node, std::int64_t opset, const Importer& importer) {
  return FlowExpansion(*this, graph, node, importer).run(opset);
}

}  // namespace dovetail::import
