#include "compiler/partition.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace dovetail {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

// What is placed as a whole: an accelerator operation or a single host node.
struct Unit {
  std::vector<NodeId> nodes;
  std::optional<accel::Operation> operation;
};

Diagnostics check_options(const Graph& graph, const PartitionOptions& options) {
  static const std::set<std::string> kTargets{"accel", "cpu"};
  Diagnostics errors;
  const auto check_target = [&](const std::string& target, const std::string& where) {
    if (!kTargets.count(target)) errors.push_back({fmt::format("unknown target \"{}\"", target), where, "this version has the targets accel and cpu", "choose one of them"});
  };
  for (const std::string& target : options.targets) check_target(target, "--target");
  for (const auto& [node, target] : options.place) {
    check_target(target, "--place");
    const std::string& name = node;
    const bool known = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const graph::Node& n) {
      return !n.removed && (n.name == name || std::find(n.origins.begin(), n.origins.end(), name) != n.origins.end());
    });
    if (!known) errors.push_back({fmt::format("cannot place \"{}\"", node), "--place", "the graph has no node of that name", "`dovetail compile --dump integer` lists the nodes"});
  }
  return errors;
}

std::string placement_of(const graph::Node& node, const PartitionOptions& options) {
  if (const auto it = options.place.find(node.name); it != options.place.end()) return it->second;
  for (const std::string& origin : node.origins)
    if (const auto it = options.place.find(origin); it != options.place.end()) return it->second;
  return {};
}

// Topological order over units that stays on a target while it can.
std::vector<const Unit*> order(const Graph& graph, const std::vector<Unit>& units) {
  std::map<NodeId, std::size_t> unit_of;
  for (std::size_t u = 0; u < units.size(); ++u)
    for (const NodeId node : units[u].nodes) unit_of[node] = u;
  std::vector<std::set<std::size_t>> users(units.size());
  std::vector<std::size_t> waiting(units.size(), 0);
  for (std::size_t u = 0; u < units.size(); ++u) {
    std::set<std::size_t> producers;
    for (const NodeId node : units[u].nodes)
      for (const ValueId input : graph.node(node).inputs)
        if (input.valid() && graph.value(input).producer.valid()) producers.insert(unit_of.at(graph.value(input).producer));
    producers.erase(u);
    waiting[u] = producers.size();
    for (const std::size_t producer : producers) users[producer].insert(u);
  }
  std::set<std::size_t> ready[2];  // by "is on the accelerator"
  const auto make_ready = [&](std::size_t u) { ready[units[u].operation ? 1 : 0].insert(u); };
  for (std::size_t u = 0; u < units.size(); ++u)
    if (waiting[u] == 0) make_ready(u);
  std::vector<const Unit*> ordered;
  int current = 0;
  while (!ready[0].empty() || !ready[1].empty()) {
    if (ready[current].empty()) current = 1 - current;
    const std::size_t u = *ready[current].begin();
    ready[current].erase(ready[current].begin());
    ordered.push_back(&units[u]);
    for (const std::size_t user : users[u])
      if (--waiting[user] == 0) make_ready(user);
  }
  DOVETAIL_CHECK(ordered.size() == units.size(), "units of an acyclic graph have an order");
  return ordered;
}

}  // namespace

Result<Partition> partition(const Graph& graph, const PartitionOptions& options) {
  Diagnostics errors = check_options(graph, options);
  if (!errors.empty()) return errors;
  const bool accelerator = std::find(options.targets.begin(), options.targets.end(), "accel") != options.targets.end();
  const bool host_listed = std::find(options.targets.begin(), options.targets.end(), "cpu") != options.targets.end();
  const bool host_first = host_listed && options.targets.front() == "cpu";

  Partition result;
  std::vector<Unit> units;
  std::set<NodeId> covered;
  const std::vector<NodeId> nodes = graph.topological_order();
  // Later nodes first: an operation is found at the node it ends in and covers what lies before.
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (covered.count(*node)) continue;
    const std::string wanted = placement_of(graph.node(*node), options);
    const bool try_accelerator = wanted.empty() ? accelerator && !host_first : wanted == "accel";
    Unit unit{{*node}, std::nullopt};
    if (try_accelerator) {
      auto operation = accel::select(graph, *node, options.hardware);
      if (operation.ok()) {
        unit.nodes = operation->nodes;
        unit.operation = *std::move(operation);
      } else {
        result.why[*node] = operation.errors().front().why;
        if (!wanted.empty()) errors.insert(errors.end(), operation.errors().begin(), operation.errors().end());
        if (options.strict && !host_listed) {
          Diagnostic refused = operation.errors().front();
          refused.hint = "add cpu to --target, leave out --strict, or change the model";
          errors.push_back(std::move(refused));
        }
      }
    } else {
      if (!host_listed && wanted.empty()) result.why[*node] = "the accelerator is not among the targets";
    }
    covered.insert(unit.nodes.begin(), unit.nodes.end());
    units.push_back(std::move(unit));
  }
  if (!errors.empty()) return errors;
  std::reverse(units.begin(), units.end());

  for (const Unit* unit : order(graph, units)) {
    const bool on_accelerator = unit->operation.has_value();
    if (result.regions.empty() || result.regions.back().accelerator != on_accelerator) result.regions.push_back({on_accelerator, {}, {}});
    if (on_accelerator)
      result.regions.back().operations.push_back(*unit->operation);
    else
      result.regions.back().nodes.push_back(unit->nodes.front());
  }
  return result;
}

}  // namespace dovetail
