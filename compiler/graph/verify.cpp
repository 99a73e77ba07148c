// The invariants of every graph, independent of its operators: checked after import and after every pass.
#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/graph/graph.h"

namespace dovetail::graph {
namespace {

constexpr std::ptrdiff_t kNamedEnds = 4;  // nodes named at either end of a long cycle

class Verifier {
 public:
  Verifier(const Graph& graph, int depth) : graph_(graph), depth_(depth) {}

  Diagnostics run() {
    const bool ids_valid = check_ids();
    check_names();
    if (!ids_valid) return findings_;  // the other checks follow ids
    check_values();
    check_uses();
    check_acyclic();
    check_extents();
    check_subgraphs();
    return findings_;
  }

 private:
  void report(std::string where, std::string why, std::string hint) {
    findings_.push_back(
        {fmt::format("graph {} is not well formed", graph_.name), std::move(where), std::move(why), std::move(hint)});
  }

  bool in_range(ValueId id) const { return id.index >= 0 && static_cast<std::size_t>(id.index) < graph_.values.size(); }

  bool check_ids() {
    const std::size_t before = findings_.size();
    const auto check = [&](const std::vector<ValueId>& ids, const std::string& where, bool may_be_omitted) {
      for (ValueId id : ids)
        if (!in_range(id) && !(may_be_omitted && !id.valid()))
          report(where,
                 fmt::format("value id {} is out of range: the graph has {} values", id.index, graph_.values.size()),
                 "use ids of this graph");
    };
    check(graph_.inputs, "graph inputs", false);
    check(graph_.outputs, "graph outputs", false);
    for (const Node& node : graph_.nodes) {
      if (node.removed) continue;
      check(node.inputs, node.name, true);
      check(node.outputs, node.name, false);
    }
    for (const Value& value : graph_.values)
      if (value.producer.valid() && static_cast<std::size_t>(value.producer.index) >= graph_.nodes.size())
        report("%" + value.name,
               fmt::format("producer id {} is out of range: the graph has {} nodes", value.producer.index,
                           graph_.nodes.size()),
               "use ids of this graph");
    return findings_.size() == before;
  }

  template <typename Items, typename Skip>
  void check_unique(const Items& items, std::string_view kind, const Skip& skip) {
    std::unordered_map<std::string, int> count;
    for (const auto& item : items)
      if (!skip(item)) ++count[item.name];
    for (const auto& item : items) {
      if (skip(item)) continue;
      int& seen = count[item.name];
      if (item.name.empty())
        report("", fmt::format("a {} has no name", kind), "give it one: unique_value_name(), unique_node_name()");
      else if (seen > 1)
        report(item.name, fmt::format("{} {}s have this name; it must be unique", seen, kind), "rename all but one");
      seen = 0;  // one finding per name
    }
  }

  void check_names() {
    check_unique(graph_.values, "value", [](const Value&) { return false; });
    check_unique(graph_.nodes, "node", [](const Node& node) { return node.removed; });
  }

  void check_values() {
    for (const Value& value : graph_.values) {
      const std::string where = "%" + value.name;
      if (value.constant && value.type != TensorType{value.constant->dtype(), value.constant->shape()})
        report(where,
               fmt::format("the type is {}, but the constant is {}", to_string(value.type),
                           to_string(TensorType{value.constant->dtype(), value.constant->shape()})),
               "set the type from the constant");
      if (value.constant && value.producer.valid())
        report(where, "the value is a constant, but also the result of a node", "remove the node, or the constant");
      if (std::any_of(value.type.shape.begin(), value.type.shape.end(), [](std::int64_t extent) { return extent < 0; }))
        report(where, fmt::format("the type {} has a negative extent", to_string(value.type)), "infer the type again");
    }
    std::vector<int> definitions(graph_.values.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.removed) continue;
      for (ValueId output : node.outputs) {
        ++definitions[static_cast<std::size_t>(output.index)];
        if (graph_.value(output).producer.index != static_cast<std::int32_t>(i))
          report(node.name, fmt::format("its output %{} names another node as its producer", graph_.value(output).name),
                 "create nodes with add_node()");
      }
    }
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (definitions[i] > 1)
        report("%" + value.name, fmt::format("the value is defined {} times, expected once", definitions[i]),
               "give each node its own output");
      if (value.producer.valid() && definitions[i] == 0)
        report("%" + value.name, fmt::format("its producer {} does not define it", graph_.node(value.producer).name),
               "remove nodes with remove_node()");
    }
    std::set<ValueId> seen;
    for (ValueId input : graph_.inputs) {
      const Value& value = graph_.value(input);
      if (!seen.insert(input).second)
        report("%" + value.name, "the value is listed twice among the graph inputs", "list it once");
      if (value.producer.valid() || value.constant)
        report("%" + value.name, "the graph input has a producer or a constant value", "remove it from the inputs");
    }
  }

  void check_uses() {
    const std::set<ValueId> inputs(graph_.inputs.begin(), graph_.inputs.end());
    const auto check = [&](ValueId id, const std::string& where) {
      const Value& value = graph_.value(id);
      if (!value.constant && !value.producer.valid() && !inputs.count(id))
        report(where, fmt::format("%{} is used, but not defined", value.name),
               "connect it to a node, a constant or a graph input");
    };
    for (const Node& node : graph_.nodes) {
      if (node.removed) continue;
      for (ValueId input : node.inputs)
        if (input.valid()) check(input, node.name);
    }
    for (ValueId output : graph_.outputs) check(output, "graph outputs");
  }

  // Depth-first, iterative (models may be thousands of nodes deep); names one cycle.
  void check_acyclic() {
    enum : char { unseen, open, done };
    std::vector<char> state(graph_.nodes.size(), unseen);
    for (std::size_t start = 0; start < graph_.nodes.size(); ++start) {
      if (graph_.nodes[start].removed || state[start] != unseen) continue;
      std::vector<std::pair<std::size_t, std::size_t>> path{{start, 0}};  // node, next operand
      state[start] = open;
      while (!path.empty()) {
        auto& [node, operand] = path.back();
        if (operand == graph_.nodes[node].inputs.size()) {
          state[node] = done;
          path.pop_back();
          continue;
        }
        const ValueId input = graph_.nodes[node].inputs[operand++];
        if (!input.valid() || !graph_.value(input).producer.valid()) continue;
        const auto next = static_cast<std::size_t>(graph_.value(input).producer.index);
        if (graph_.nodes[next].removed || state[next] == done) continue;
        if (state[next] == open) return report_cycle(path, next);
        state[next] = open;
        path.emplace_back(next, 0);
      }
    }
  }

  void report_cycle(const std::vector<std::pair<std::size_t, std::size_t>>& path, std::size_t entry) {
    std::vector<std::string> names;  // in reverse of the path, which goes from users to producers
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
      names.push_back(graph_.nodes[step->first].name);
      if (step->first == entry) break;
    }
    names.push_back(names.front());
    if (const auto left_out = std::ssize(names) - 2 * kNamedEnds; left_out > 1) {
      names.erase(names.begin() + kNamedEnds, names.end() - kNamedEnds);
      names.insert(names.begin() + kNamedEnds, fmt::format("... ({} more)", left_out));
    }
    report(graph_.nodes[entry].name, fmt::format("the nodes form a cycle: {}", fmt::join(names, " -> ")),
           "a graph must be acyclic; break the cycle in the model");
  }

  void check_extents() {
    for (const OutputExtent& row : graph_.extents) {
      const auto output = graph_.find_value(row.output), extent = graph_.find_value(row.extent);
      if (!output || !extent || !graph_.is_output(*output) || !graph_.is_output(*extent)) {
        report("%" + row.output,
               fmt::format("the extent along axis {} is %{}; both must be outputs", row.axis, row.extent),
               "list both as outputs");
        continue;
      }
      const std::int64_t rank = std::ssize(graph_.value(*output).type.shape);
      if (row.axis < 0 || row.axis >= rank)
        report("%" + row.output, fmt::format("a run-time extent is along axis {}, but the rank is {}", row.axis, rank),
               "choose one of the output's axes");
      if (graph_.value(*extent).type != TensorType{DType::int64, {1}})
        report("%" + row.extent,
               fmt::format("the run-time extent has type {}, expected int64[1]", to_string(graph_.value(*extent).type)),
               "give one number");
      if (std::ranges::count(graph_.extents, row.output, &OutputExtent::output) > 1)
        report("%" + row.output, "the output has two run-time extents", "let only one axis depend on values");
    }
  }

  void check_subgraphs() {
    for (const Node& node : graph_.nodes) {
      if (node.removed || node.subgraphs.empty()) continue;
      if (depth_ == kMostNested) {
        report(node.name, fmt::format("subgraphs are nested more than {} deep", kMostNested), "nest fewer subgraphs");
        continue;
      }
      for (const auto& subgraph : node.subgraphs) {
        if (subgraph == nullptr) {
          report(node.name, "a subgraph is missing", "give one graph for each subgraph");
          continue;
        }
        for (Diagnostic& finding : Verifier(*subgraph, depth_ + 1).run()) {
          finding.where = fmt::format("{}, {}", node.name, finding.where);
          findings_.push_back(std::move(finding));
        }
      }
    }
  }

  const Graph& graph_;
  int depth_;
  Diagnostics findings_;
};

}  // namespace

Result<void> verify(const Graph& graph) { return Verifier(graph, 0).run(); }

}  // namespace dovetail::graph
