#include "compiler/import/infer_types.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/import/domain_operators.h"
#include "compiler/import/expand_qoperators.h"
#include "compiler/import/extents.h"
#include "compiler/import/normalize.h"
#include "compiler/import/tensor_proto.h"
#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"

namespace dovetail::import {
namespace {

using graph::NodeId;
using graph::ValueId;

// A value needed at compile time (a shape, a list of axes) is small; if computing it takes more than this, the model is
// damaged.
constexpr std::int64_t kCompileTimeBytes = std::int64_t{1} << 24;
// The same for all such values of a model together: bytes, and expressions evaluated (passes::evaluation_steps).
constexpr std::int64_t kAllCompileTimeBytes = std::int64_t{1} << 28;
constexpr double kAllCompileTimeSteps = 1e9;

class TypeInference {
 public:
  TypeInference(Imported& imported, const ImportOptions& options, const std::string& where,
                const passes::Evaluate& evaluate, ControlFlow& flow)
      : TypeInference(imported.graph, imported.report.opset, options.values, imported.report.notes, where, evaluate,
                      flow) {}

  Diagnostics run() {
    for (NodeId imported : graph_.topological_order()) {
      if (operands_typed(imported)) drop_unused_outputs(imported);
      visit(imported);
    }
    give_extents();
    return std::move(findings_);
  }

 private:
  TypeInference(graph::Graph& graph, std::int64_t opset, const std::map<std::string, NdArray>& values,
                std::vector<std::string>& notes, const std::string& where, const passes::Evaluate& evaluate,
                ControlFlow& flow)
      : graph_(graph), opset_(opset), values_(values), notes_(notes), where_(where), evaluate_(evaluate), flow_(flow) {}

  ControlFlow::Importer importer() {
    return {[this](NodeId node) { return visit(node); },
            [this](ValueId value) { return materialize(value, Inputs::stay); },
            [this](ValueId value) { return materialize(value, Inputs::fixed); },
            [this](Diagnostic diagnostic) { report({std::move(diagnostic)}); },
            [this](ValueId value) { return extents_.contains(value); },
            [this](graph::Graph& subgraph, ControlFlow& flow,
                   const std::function<void(const ControlFlow::Importer&)>& fill) {
              static const std::map<std::string, NdArray> none;
              static const std::string nowhere;  // the outer graph reports the place
              TypeInference inner(subgraph, opset_, none, notes_, nowhere, evaluate_, flow);
              fill(inner.importer());
              return std::move(inner.findings_);
            }};
  }

  // Infers the types of all nodes that the imported node becomes; false if it is rejected.
  bool visit(NodeId imported) {
    const std::vector<ValueId> outputs = graph_.node(imported).outputs;
    if (!operands_typed(imported)) {
      lose(outputs);
      return false;
    }
    if (flow_.holds(imported)) {
      const bool taken = flow_.expand(graph_, imported, opset_, importer());
      if (!taken) lose(outputs);
      return taken;
    }
    for (const std::size_t position : is_domain_operator(graph_.node(imported).op)
                                          ? inputs_of_domain_operator(graph_.node(imported).op)
                                          : inputs_of_rules(graph_.node(imported).op))
      if (const auto& inputs = graph_.node(imported).inputs; position < inputs.size() && inputs[position].valid())
        materialize(inputs[position], Inputs::fixed);  // the rule reports a missing value
    const std::string op = graph_.node(imported).op;
    const auto nodes = is_qoperator(op)         ? expand_qoperator(graph_, imported)
                       : is_domain_operator(op) ? expand_domain_operator(graph_, imported, opset_, notes_)
                                                : normalize(graph_, imported, opset_);
    if (!nodes) {
      report(nodes.errors());
      lose(outputs);
      return false;
    }
    bool taken = true;
    for (NodeId node : *nodes)
      if (operands_typed(node) && !infer(node)) lose(graph_.node(node).outputs), lose(outputs), taken = false;
    return taken;
  }

  void report(Diagnostics diagnostics) {
    for (Diagnostic& diagnostic : diagnostics) {
      if (diagnostic.where.empty()) diagnostic.where = where_;
      else if (!where_.empty()) diagnostic.where = where_ + ", " + diagnostic.where;
      findings_.push_back(std::move(diagnostic));
    }
  }

  bool operands_typed(NodeId node) const {
    const std::vector<ValueId>& inputs = graph_.node(node).inputs;
    return std::none_of(inputs.begin(), inputs.end(),
                        [&](ValueId input) { return input.valid() && untyped_.count(input); });
  }
  void lose(const std::vector<ValueId>& outputs) { untyped_.insert(outputs.begin(), outputs.end()); }

  // Unused optional trailing outputs (Dropout's mask, an LSTM's state) are not computed. Split's outputs are not
  // optional: their number is part of its meaning.
  void drop_unused_outputs(NodeId id) {
    if (graph_.node(id).op == "Split") return;
    const graph::NodeEdit node = graph_.edit(id);
    std::vector<ValueId>& outputs = node->outputs;
    while (outputs.size() > 1 && !graph_.is_output(outputs.back()) && graph_.users(outputs.back()).empty()) {
      graph_.value(outputs.back()).producer = {};
      outputs.pop_back();
    }
  }

  // A node whose number of result elements depends on data: computed when the model is compiled if possible, else when
  // it runs.
  void choose_when(NodeId node) {
    const ops::OpDef* def = ops::find(graph_.node(node).op);
    if (def == nullptr || def->evaluate == nullptr) return;
    const auto known = [&](ValueId input) {
      return !input.valid() || graph_.is_constant(input) || materialize(input, Inputs::stay).empty();
    };
    const std::vector<ValueId> inputs = graph_.node(node).inputs;
    if (!std::ranges::all_of(inputs, known)) become_bounded(graph_, node);
  }

  bool infer(NodeId node) {
    const std::size_t before = findings_.size();
    inferred_at_.emplace(node, inferred_at_.size());
    choose_when(node);
    if (const ops::OpDef* def = ops::find(graph_.node(node).op))
      for (int position : def->compile_time_inputs) require_constant(node, static_cast<std::size_t>(position));
    if (findings_.size() != before) return false;
    if (auto inferred = ops::infer(graph_, node); !inferred) {
      report(inferred.errors());
      return false;
    }
    for (ValueId output : graph_.node(node).outputs) {
      const graph::Value& value = graph_.value(output);
      if (auto bytes = tensor_bytes(value.type.dtype, value.type.shape,
                                    fmt::format("{}, output %{}", graph_.node(node).name, value.name));
          !bytes)
        report(bytes.errors());
    }
    if (findings_.size() != before) return false;
    if (auto followed = follow_extents(graph_, node, extents_); !followed) {
      report(followed.errors());
      return false;
    }
    return evaluate_now(node);
  }

  // The model also outputs the extents of those outputs whose extents depend on data.
  void give_extents() {
    for (const ValueId output : std::vector<ValueId>(graph_.outputs)) {
      const auto known = extents_.find(output);
      if (known == extents_.end()) continue;
      if (!graph_.is_output(known->second.extent)) graph_.outputs.push_back(known->second.extent);
      graph_.extents.push_back({graph_.value(output).name, static_cast<std::int64_t>(known->second.axis),
                                graph_.value(known->second.extent).name});
    }
  }

  // Operators whose extents depend on data are evaluated at once: later stages never see such a node.
  bool evaluate_now(NodeId node) {
    const ops::OpDef* def = ops::find(graph_.node(node).op);
    if (def == nullptr || def->evaluate == nullptr) return true;
    auto values = passes::evaluate_node(graph_, node, evaluate_);
    if (!values) {
      report(values.errors());
      return false;
    }
    passes::replace_by_constants(graph_, node, *std::move(values));
    return true;
  }

  void require_constant(NodeId node, std::size_t position) {
    if (position >= graph_.node(node).inputs.size()) return;
    const ValueId operand = graph_.node(node).inputs[position];
    if (!operand.valid() || graph_.is_constant(operand)) return;
    if (const std::string why = materialize(operand, Inputs::fixed); !why.empty())
      report(
          {{fmt::format("cannot import {} ({})", graph_.node(node).name, graph_.node(node).op), graph_.node(node).name,
            fmt::format("input {} (%{}) must be known at compile time, but {}", position, graph_.value(operand).name,
                        why),
            in_subgraph() ? "use Gather instead of Slice for computed positions, or give the Loop a constant trip "
                            "count and condition"
                          : "set the extents that it depends on (--shape), or fold constants before export"}});
  }

  // Makes a graph input the constant given by the options; false if they give none of its type.
  bool fix_input(ValueId input) {
    graph::Value& value = graph_.value(input);
    const auto given = values_.find(value.name);
    if (given == values_.end() || value.type != graph::TensorType{given->second.dtype(), given->second.shape()})
      return false;
    value.constant = frozen(given->second);
    std::erase(graph_.inputs, input);
    notes_.push_back(fmt::format("input {}: its value must be known at compile time; the given value is now a constant",
                                 value.name));
    return true;
  }

  bool in_subgraph() const { return where_.empty(); }

  enum class Inputs { stay, fixed };  // fixed: inputs of the model become constants if the options give their values
  // Makes the value a constant by evaluating everything that it depends on; otherwise returns why not. Precondition:
  // the types of these values are known.
  std::string materialize(ValueId target, Inputs inputs) {
    std::vector<NodeId> needed;
    std::set<NodeId> seen;
    std::vector<ValueId> open{target};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (!value.valid() || graph_.is_constant(value)) continue;
      const NodeId producer = graph_.value(value).producer;
      if (!producer.valid()) {
        if (inputs == Inputs::stay || !fix_input(value))
          return in_subgraph()
                     ? fmt::format("it depends on %{}, which its subgraph reads at run time", graph_.value(value).name)
                     : fmt::format("it depends on graph input %{}", graph_.value(value).name);
        continue;
      }
      if (!seen.insert(producer).second) continue;
      needed.push_back(producer);
      if (!passes::needs_types_only(graph_.node(producer)))
        open.insert(open.end(), graph_.node(producer).inputs.begin(), graph_.node(producer).inputs.end());
    }
    // Operands first. The needed nodes are found from the value, not by a scan of the whole graph for each value.
    std::sort(needed.begin(), needed.end(),
              [&](NodeId a, NodeId b) { return inferred_at_.at(a) < inferred_at_.at(b); });
    ControlFlow::Spent& spent = flow_.spent();
    for (NodeId node : needed) {
      if (!graph_.node(node).subgraphs.empty())
        return fmt::format("it depends on {}, which selects at run time what it computes", graph_.node(node).name);
      for (ValueId output : graph_.node(node).outputs) {
        const graph::TensorType& type = graph_.value(output).type;
        if (element_count(type.shape) > kCompileTimeBytes / size_bytes(type.dtype))
          return fmt::format("computing it needs a tensor of type {} (%{}), more than {} MiB", to_string(type),
                             graph_.value(output).name, kCompileTimeBytes >> 20);
        spent.bytes += element_count(type.shape) * size_bytes(type.dtype);
      }
      spent.steps += passes::evaluation_steps(graph_, node);
      if (spent.bytes > kAllCompileTimeBytes)
        return fmt::format("computing all such values of the model needs more than {} MiB", kAllCompileTimeBytes >> 20);
      if (spent.steps > kAllCompileTimeSteps)
        return fmt::format("computing all such values of the model needs {:.1e} steps > {:.1e}", spent.steps,
                           kAllCompileTimeSteps);
      auto values = passes::evaluate_node(graph_, node, evaluate_);
      if (!values) return fmt::format("evaluating {} fails: {}", graph_.node(node).name, values.errors().front().why);
      passes::replace_by_constants(graph_, node, *std::move(values));
    }
    return "";
  }

  graph::Graph& graph_;
  const std::int64_t opset_;
  const std::map<std::string, NdArray>& values_;  // values of graph inputs
  std::vector<std::string>& notes_;
  const std::string& where_;
  const passes::Evaluate& evaluate_;
  ControlFlow& flow_;
  std::set<ValueId> untyped_;
  Extents extents_;
  std::map<NodeId, std::size_t> inferred_at_;  // an execution order of the nodes seen so far
  Diagnostics findings_;
};

}  // namespace

Result<void> infer_types(Imported& imported, const ImportOptions& options, const std::string& where,
                         const passes::Evaluate& evaluate, ControlFlow& flow) {
  return TypeInference(imported, options, where, evaluate, flow).run();
}

}  // namespace dovetail::import
