#include "compiler/import/read_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"
#include "compiler/import/attributes.h"
#include "compiler/import/control_flow.h"
#include "compiler/import/domain_operators.h"
#include "compiler/import/expand_qoperators.h"
#include "compiler/import/input_shapes.h"
#include "compiler/import/messages.h"
#include "compiler/import/normalize.h"
#include "compiler/import/operator_versions.h"
#include "compiler/import/refused_operators.h"
#include "compiler/import/tensor_proto.h"
#include "compiler/ops/op.h"

namespace dovetail::import {
namespace {

using graph::Node;
using graph::ValueId;

constexpr const char* kOneProducer = "every value has one producer; rename one of them";
constexpr std::size_t kNamedNodes = 5;  // nodes of an unknown operator that are named; the rest is counted

bool is_default_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

// Generates unique node names: `stem`, stem_2, ... in time independent of the number of nodes.
class NodeNames {
 public:
  std::string unique(const std::string& stem) {
    std::string name = stem;
    for (int& count = tried_[stem]; !taken_.insert(name).second;) name = fmt::format("{}_{}", stem, ++count + 1);
    return name;
  }

 private:
  std::unordered_map<std::string, int> tried_;
  std::unordered_set<std::string> taken_;
};

class Reader {
 public:
  Reader(const onnx::Model& model, const std::string& where, const ImportOptions& options, ControlFlow& flow)
      : model_(model),
        proto_(model.graph ? *model.graph : no_graph_),
        where_(where),
        options_(options),
        external_(flow.external()),
        flow_(flow) {}

  Result<Imported> run() {
    read_header();
    graph().name = printable(proto_.name);
    for (const onnx::Tensor& tensor : proto_.initializers) add_initializer(tensor);
    for (const onnx::SparseTensor& tensor : proto_.sparse_initializers)
      report("initializer " + printable(tensor.values.name), "sparse tensors are not supported",
             "export a dense tensor");
    add_inputs();
    for (const onnx::Node& node : proto_.nodes) add_node(node);
    for (std::size_t i = 0; i < links_.size(); ++i) link(links_[i]);
    add_outputs();
    report_unknown_operators();
    if (findings_.empty())
      if (auto verified = graph::verify(graph()); !verified) findings_ = verified.errors();  // cycles
    if (!findings_.empty()) return std::move(findings_);
    return std::move(imported_);
  }

 private:
  struct Link {  // the operands of a node, by name: a producer may come later in the file
    graph::NodeId node;
    std::vector<std::string> inputs;
  };

  graph::Graph& graph() { return imported_.graph; }

  void report(const std::string& object, std::string why, std::string hint) {
    findings_.push_back(
        {"cannot import the model", object.empty() ? where_ : where_ + ", " + object, std::move(why), std::move(hint)});
  }
  void report(const Diagnostics& diagnostics) {
    findings_.insert(findings_.end(), diagnostics.begin(), diagnostics.end());
  }

  void read_header() {
    imported_.report.ir_version = model_.ir_version;
    imported_.report.producer = printable(model_.producer_name);
    if (!model_.producer_version.empty())
      imported_.report.producer = fmt::format("{} {}", imported_.report.producer, printable(model_.producer_version));
    for (const onnx::KeyValue& entry : model_.metadata_props)
      imported_.report.metadata.emplace(entry.key, entry.value);  // the first entry of a duplicate key
    for (const onnx::OperatorSet& set : model_.opset_imports)
      if (is_default_domain(set.domain)) imported_.report.opset = set.version;
    if (const std::int64_t opset = imported_.report.opset; opset < kOldestOpset || opset > kNewestOpset)
      report("",
             opset == 0 ? std::string("the model names no ONNX operator set")
                        : fmt::format("ONNX operator set {} is not supported; sets {} to {} are", opset, kOldestOpset,
                                      kNewestOpset),
             "convert the model with onnx.version_converter, or export it with another opset");
    if (!model_.graph) report("", "the file contains no graph", "check that this is an ONNX model");
  }

  // Declares a value; an error if the name is taken.
  ValueId declare(const std::string& name, graph::TensorType type, const std::string& what) {
    const ValueId id{static_cast<std::int32_t>(graph().values.size())};
    const auto [entry, fresh] = by_name_.emplace(name, id);
    if (!fresh) {
      report(what, fmt::format("value {} is defined twice", name), kOneProducer);
      return {};
    }
    graph::Value value;
    value.name = name;
    value.type = std::move(type);
    graph().add_value_as_is(std::move(value));
    return id;
  }

  void add_constant(const std::string& name, NdArray array, const std::string& what) {
    const ValueId id = declare(name, {array.dtype(), array.shape()}, what);
    if (id.valid()) graph().value(id).constant = frozen(std::move(array));
  }

  void add_initializer(const onnx::Tensor& tensor) {
    const std::string name = printable(tensor.name);
    const std::string what = "initializer " + name;
    if (name.empty()) return report(what, "an initializer has no name", "export the model again");
    // Initializers of the same bytes of a data file are one value, which is read once.
    const auto identity = external_identity(tensor, external_);
    if (identity && !is_output(name)) {
      if (const auto known = by_identity_.find(*identity); known != by_identity_.end()) {
        if (!by_name_.emplace(name, known->second).second)
          report(what, fmt::format("value {} is defined twice", name), kOneProducer);
        return;
      }
    }
    auto array = to_ndarray(tensor, where_ + ", " + what, external_);
    if (!array) {
      report(array.errors());
      broken_.insert(name);
      return;
    }
    add_constant(name, *std::move(array), what);
    if (identity) by_identity_.emplace(*identity, by_name_.at(name));
  }

  // An output must keep its name.
  bool is_output(const std::string& name) const {
    return std::ranges::any_of(proto_.outputs,
                               [&](const onnx::ValueInfo& output) { return printable(output.name) == name; });
  }

  // IR versions before 4 list initializers among the inputs; they stay constants.
  void add_inputs() {
    std::vector<const onnx::ValueInfo*> inputs;
    std::unordered_set<std::string> seen;
    for (const onnx::ValueInfo& input : proto_.inputs) {
      const std::string name = printable(input.name);
      if (by_name_.count(name) || broken_.count(name)) continue;
      if (name.empty()) report("inputs", "a graph input has no name", "export the model again");
      else if (!seen.insert(name).second)
        report("input " + name, fmt::format("value {} is defined twice", name), "list each input once");
      else inputs.push_back(&input);
    }
    auto types = bind_input_shapes(inputs, where_, options_, imported_.report.notes);
    if (!types) report(types.errors());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = printable(inputs[i]->name);
      graph().inputs.push_back(declare(name, types ? (*types)[i] : graph::TensorType{}, "input " + name));
    }
  }

  void add_node(const onnx::Node& proto) {
    Node node;
    node.op = printable(proto.op_type);
    if (!is_default_domain(proto.domain)) node.op = printable(proto.domain) + "." + node.op;
    ++imported_.report.operators[node.op];
    node.name = printable(proto.name);
    if (node.name.empty())
      node.name = !proto.outputs.empty() ? fmt::format("{}_{}", node.op, printable(proto.outputs[0])) : node.op;
    node.name = names_.unique(node.name);
    node.origins = {node.name};
    const std::string what = fmt::format("node {} ({})", node.name, node.op);

    auto attributes = read_attributes(proto, where_ + ", " + what, external_);
    if (!attributes) {
      report(attributes.errors());
      declare_outputs(proto, what);  // so that users of its outputs are not also reported
      return;
    }
    node.attributes = *std::move(attributes);
    if (node.op == "Constant") return add_constant_node(proto, node, what);
    if (!is_known(node.op)) unknown_[node.op].push_back(node.name);
    else check_version(node, what);
    node.outputs = declare_outputs(proto, what);
    if (node.outputs.empty()) report(what, "the node has no outputs", "remove the node");
    Link link;
    for (const std::string& input : proto.inputs) link.inputs.push_back(printable(input));
    while (!link.inputs.empty() && link.inputs.back().empty()) link.inputs.pop_back();
    const bool has_subgraphs = is_control_flow(node.op);
    link.node = graph().add_node(std::move(node));
    if (has_subgraphs) {
      const std::size_t own_inputs = link.inputs.size();
      std::vector<std::string> captured = ControlFlow::captured(proto);
      link.inputs.insert(link.inputs.end(), captured.begin(), captured.end());
      flow_.add(link.node, proto, own_inputs, std::move(captured));
    }
    links_.push_back(std::move(link));
  }

  // Omitted trailing outputs are removed; one in the middle becomes an unused value.
  std::vector<ValueId> declare_outputs(const onnx::Node& proto, const std::string& what) {
    std::size_t count = proto.outputs.size();
    while (count > 0 && proto.outputs[count - 1].empty()) --count;
    std::vector<ValueId> outputs;
    for (std::size_t i = 0; i < count; ++i) {
      std::string name = printable(proto.outputs[i]);
      if (name.empty()) name = fmt::format("{} output {} (unused)", what, i);
      if (const ValueId id = declare(name, {}, what); id.valid()) outputs.push_back(id);
    }
    return outputs;
  }

  void add_constant_node(const onnx::Node& proto, const Node& node, const std::string& what) {
    if (proto.outputs.size() != 1 || node.attributes.size() != 1)
      return report(what, "a Constant must have one output and one attribute", "export the model again");
    const std::string name = printable(proto.outputs[0]);
    auto value = constant_value(node.attributes, where_ + ", " + what);
    if (value) return add_constant(name, *std::move(value), what);
    broken_.insert(name);
    report(value.errors());
  }

  // Reported once per operator.
  void check_version(const Node& node, const std::string& what) {
    const OperatorVersions* row = find_versions(node.op);
    if (row == nullptr) return;
    const std::int64_t version = version_at(*row, imported_.report.opset);
    if ((version >= row->oldest_known && version <= row->newest_known) || !refused_versions_.insert(node.op).second)
      return;
    report(what,
           fmt::format("version {} of {} is not supported; the model uses operator set {}", version, node.op,
                       imported_.report.opset),
           fmt::format("convert the model with onnx.version_converter; versions {} to {} are supported",
                       row->oldest_known, std::min(row->newest_known, row->versions.back())));
  }

  static bool is_known(const std::string& op) {
    return ops::find(op) || is_normalized_away(op) || is_qoperator(op) || is_domain_operator(op) || is_control_flow(op);
  }

  ValueId lookup(const std::string& name, const std::string& what) {
    if (name.empty()) return {};
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    if (!broken_.count(name))
      report(what, fmt::format("the node uses {}, which is not defined", name),
             "the model is incomplete; export it again");
    return {};
  }

  void link(const Link& link) {
    const std::string what = fmt::format("node {} ({})", graph().node(link.node).name, graph().node(link.node).op);
    std::vector<ValueId> inputs;
    for (const std::string& input : link.inputs) inputs.push_back(lookup(input, what));
    graph().edit(link.node)->inputs = std::move(inputs);
  }

  void add_outputs() {
    if (model_.graph && proto_.outputs.empty())
      report("", "the graph has no outputs", "mark at least one value as an output");
    for (const onnx::ValueInfo& output : proto_.outputs) {
      const std::string name = printable(output.name);
      if (name.empty()) {
        report("outputs", "a graph output has no name", "export the model again");
      } else if (const ValueId value = lookup(name, "outputs"); !graph().is_output(value)) {
        graph().outputs.push_back(value);
      } else {
        imported_.report.notes.push_back(fmt::format("output {} is listed more than once; it is returned once", name));
      }
    }
  }

  void report_unknown_operators() {
    for (const auto& [op, nodes] : unknown_) {
      std::vector<std::string> named(nodes.begin(),
                                     nodes.begin() + static_cast<std::ptrdiff_t>(std::min(nodes.size(), kNamedNodes)));
      const RefusedOperators* refused = find_refused(op);
      const std::string_view hint =
          refused != nullptr ? refused->hint
          : op.find('.') != std::string::npos
              ? "docs/reference/import.md lists the supported operators of other domains; export with ONNX operators"
              : "rewrite the model with the operators of docs/reference/import.md, or add this one "
                "(docs/howto/adding-an-operator.md)";
      report("",
             fmt::format("operator {} is not supported{}{}; {} node{}: {}{}", op, refused != nullptr ? ": " : "",
                         refused != nullptr ? refused->why : "", nodes.size(), nodes.size() == 1 ? "" : "s",
                         fmt::join(named, ", "),
                         nodes.size() > named.size() ? fmt::format(" and {} more", nodes.size() - named.size()) : ""),
             std::string(hint));
    }
  }

  const onnx::Model& model_;
  const onnx::Graph no_graph_;
  const onnx::Graph& proto_;
  const std::string& where_;
  const ImportOptions& options_;
  Imported imported_;
  Diagnostics findings_;
  NodeNames names_;
  std::vector<Link> links_;
  ExternalData external_;
  ControlFlow& flow_;
  std::unordered_map<std::string, ValueId> by_name_, by_identity_;
  std::unordered_set<std::string> broken_;  // names whose definition was already reported
  std::map<std::string, std::vector<std::string>> unknown_;
  std::set<std::string> refused_versions_;  // operators already reported
};

}  // namespace

Result<Imported> read_graph(const onnx::Model& model, const std::string& where, const ImportOptions& options,
                            ControlFlow& flow) {
  return Reader(model, where, options, flow).run();
}

}  // namespace dovetail::import
