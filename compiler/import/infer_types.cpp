#include "compiler/import/infer_types.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/import/domain_operators.h"
#include "compiler/import/expand_qoperators.h"
#include "compiler/import/normalise.h"
#include "compiler/import/tensor_proto.h"
#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"

namespace dovetail::import {
namespace {

using graph::NodeId;
using graph::ValueId;

// A value needed at compile time (a shape, a list of axes) is small; more than this on the way to one is a damaged
// model.
constexpr std::int64_t kCompileTimeBytes = std::int64_t{1} << 24;
// For all such values of a model together: bytes, and expressions evaluated on the way (passes::evaluation_steps).
constexpr std::int64_t kAllCompileTimeBytes = std::int64_t{1} << 28;
constexpr double kAllCompileTimeSteps = 1e9;

class TypeInference {
 public:
  TypeInference(Imported& imported, const ImportOptions& options, const std::string& where,
                const passes::Evaluate& evaluate, ControlFlow& flow)
      : graph_(imported.graph),
        opset_(imported.report.opset),
        values_(options.values),
        notes_(imported.report.notes),
        where_(where),
        evaluate_(evaluate),
        flow_(flow) {}

  Diagnostics run() {
    for (NodeId imported : graph_.topological_order()) {
      if (operands_typed(imported)) drop_unused_outputs(imported);
      visit(imported);
    }
    return std::move(findings_);
  }

 private:
  // Types of all that the imported node becomes; false where it is not taken.
  bool visit(NodeId imported) {
    const std::vector<ValueId> outputs = graph_.node(imported).outputs;
    if (!operands_typed(imported)) {
      lose(outputs);
      return false;
    }
    if (flow_.holds(imported)) {
      const bool taken = flow_.expand(
          graph_, imported, opset_,
          {[this](NodeId node) { return visit(node); }, [this](ValueId value) { return materialise(value); },
           [this](Diagnostic diagnostic) { report({std::move(diagnostic)}); }});
      if (!taken) lose(outputs);
      return taken;
    }
    for (const std::size_t position : is_domain_operator(graph_.node(imported).op)
                                          ? inputs_of_domain_operator(graph_.node(imported).op)
                                          : inputs_of_rules(graph_.node(imported).op))
      if (const auto& inputs = graph_.node(imported).inputs; position < inputs.size() && inputs[position].valid())
        materialise(inputs[position]);  // the rule reports what it misses
    const std::string op = graph_.node(imported).op;
    const auto nodes = is_qoperator(op)         ? expand_qoperator(graph_, imported)
                       : is_domain_operator(op) ? expand_domain_operator(graph_, imported, opset_, notes_)
                                                : normalise(graph_, imported, opset_);
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
      diagnostic.where = diagnostic.where.empty() ? where_ : where_ + ", " + diagnostic.where;
      findings_.push_back(std::move(diagnostic));
    }
  }

  bool operands_typed(NodeId node) const {
    const std::vector<ValueId>& inputs = graph_.node(node).inputs;
    return std::none_of(inputs.begin(), inputs.end(),
                        [&](ValueId input) { return input.valid() && untyped_.count(input); });
  }
  void lose(const std::vector<ValueId>& outputs) { untyped_.insert(outputs.begin(), outputs.end()); }

  // Optional outputs at the end that nothing uses (Dropout's mask, an LSTM's state) are not computed. Split's outputs
  // are not optional: their number is part of its meaning.
  void drop_unused_outputs(NodeId id) {
    if (graph_.node(id).op == "Split") return;
    const graph::NodeEdit node = graph_.edit(id);
    std::vector<ValueId>& outputs = node->outputs;
    while (outputs.size() > 1 && !graph_.is_output(outputs.back()) && graph_.users(outputs.back()).empty()) {
      graph_.value(outputs.back()).producer = {};
      outputs.pop_back();
    }
  }

  bool infer(NodeId node) {
    const std::size_t before = findings_.size();
    inferred_at_.emplace(node, inferred_at_.size());
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
    return evaluate_now(node);
  }

  // Operators whose extents depend on values have them at once: nothing behind the import sees such a node.
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
    if (const std::string why = materialise(operand); !why.empty())
      report(
          {{fmt::format("cannot import {} ({})", graph_.node(node).name, graph_.node(node).op), graph_.node(node).name,
            fmt::format("input {} (%{}) must be known at compile time, but {}", position, graph_.value(operand).name,
                        why),
            "fix the extents it depends on (--shape), or fold constants before export"}});
  }

  // Makes a graph input the constant that the options give for it; false where they give none of its type.
  bool fix_input(ValueId input) {
    graph::Value& value = graph_.value(input);
    const auto given = values_.find(value.name);
    if (given == values_.end() || value.type != graph::TensorType{given->second.dtype(), given->second.shape()})
      return false;
    value.constant = frozen(given->second);
    std::erase(graph_.inputs, input);
    notes_.push_back(
        fmt::format("input {}: its value must be known at compile time; the one given is a constant", value.name));
    return true;
  }

  // Makes the value a constant by evaluating all that it depends on; else says why not. Everything on the way has its
  // type already.
  std::string materialise(ValueId wanted) {
    std::vector<NodeId> needed;
    std::set<NodeId> seen;
    std::vector<ValueId> open{wanted};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (!value.valid() || graph_.is_constant(value)) continue;
      const NodeId producer = graph_.value(value).producer;
      if (!producer.valid()) {
        if (!fix_input(value)) return fmt::format("it depends on graph input %{}", graph_.value(value).name);
        continue;
      }
      if (!seen.insert(producer).second) continue;
      needed.push_back(producer);
      if (!passes::needs_types_only(graph_.node(producer)))
        open.insert(open.end(), graph_.node(producer).inputs.begin(), graph_.node(producer).inputs.end());
    }
    // Operands first. What is needed for one value is found from that value, not by going over the whole graph for
    // each.
    std::sort(needed.begin(), needed.end(),
              [&](NodeId a, NodeId b) { return inferred_at_.at(a) < inferred_at_.at(b); });
    for (NodeId node : needed) {
      for (ValueId output : graph_.node(node).outputs) {
        const graph::TensorType& type = graph_.value(output).type;
        if (element_count(type.shape) > kCompileTimeBytes / size_bytes(type.dtype))
          return fmt::format("computing it takes a tensor of type {} (%{}), more than {} MiB", to_string(type),
                             graph_.value(output).name, kCompileTimeBytes >> 20);
        bytes_ += element_count(type.shape) * size_bytes(type.dtype);
      }
      steps_ += passes::evaluation_steps(graph_, node);
      if (bytes_ > kAllCompileTimeBytes)
        return fmt::format("computing all such values of the model takes more than {} MiB", kAllCompileTimeBytes >> 20);
      if (steps_ > kAllCompileTimeSteps)
        return fmt::format("computing all such values of the model takes {:.1e} steps > {:.1e}", steps_,
                           kAllCompileTimeSteps);
      auto values = passes::evaluate_node(graph_, node, evaluate_);
      if (!values) return fmt::format("evaluating {} fails: {}", graph_.node(node).name, values.errors().front().why);
      passes::replace_by_constants(graph_, node, *std::move(values));
    }
    return "";
  }

  graph::Graph& graph_;
  const std::int64_t opset_;
  const std::map<std::string, NdArray>& values_;  // of graph inputs
  std::vector<std::string>& notes_;
  const std::string& where_;
  const passes::Evaluate& evaluate_;
  ControlFlow& flow_;
  std::set<ValueId> untyped_;
  std::map<NodeId, std::size_t> inferred_at_;  // an execution order of the nodes seen so far
  std::int64_t bytes_ = 0;                     // spent on values needed at compile time
  double steps_ = 0;
  Diagnostics findings_;
};

}  // namespace

Result<void> infer_types(Imported& imported, const ImportOptions& options, const std::string& where,
                         const passes::Evaluate& evaluate, ControlFlow& flow) {
  return TypeInference(imported, options, where, evaluate, flow).run();
}

}  // namespace dovetail::import
