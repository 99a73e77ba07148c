#include "compiler/partition.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/group_convex.h"

namespace dovetail {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

// What is placed as a whole.
struct Unit {
  std::size_t target;  // position among those available
  Match match;
};

class Partitioner {
 public:
  Partitioner(const Graph& graph, const PartitionOptions& options) : graph_(graph), options_(options) {}

  Result<Partition> run() {
    check_options();
    if (!errors_.empty()) return errors_;
    const std::vector<NodeId> nodes = graph_.topological_order();
    // Later nodes first: a match is found at the node it ends in and covers what lies before.
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
      if (!covered_.count(*node)) place(*node);
    if (!errors_.empty()) return errors_;
    std::reverse(units_.begin(), units_.end());
    group();
    return std::move(result_);
  }

 private:
  // ---- Options ------------------------------------------------------------------------------------------------------------------

  std::optional<std::size_t> find(const std::string& name) const {
    for (std::size_t t = 0; t < options_.available.size(); ++t)
      if (options_.available[t]->name() == name) return t;
    return std::nullopt;
  }
  void check_target(const std::string& name, const std::string& where) {
    if (find(name)) return;
    std::vector<std::string_view> names;
    for (const TargetPointer& target : options_.available) names.push_back(target->name());
    errors_.push_back({fmt::format("unknown target \"{}\"", name), where, fmt::format("there are the targets {}", fmt::join(names, ", ")), "choose one of them"});
  }
  void check_options() {
    std::set<std::string_view> names;
    for (const TargetPointer& target : options_.available)
      if (!names.insert(target->name()).second)
        errors_.push_back({fmt::format("two targets are named {}", target->name()), "CompileOptions::backends", "--target could not tell them apart", "give each back end a name of its own"});
    for (const std::string& target : options_.targets) check_target(target, "--target");
    for (const auto& [name, target] : options_.place) {
      check_target(target, "--place");
      const std::string& node = name;
      const bool known = std::ranges::any_of(graph_.nodes, [&](const graph::Node& n) { return !n.removed && (n.name == node || std::ranges::find(n.origins, node) != n.origins.end()); });
      if (!known) errors_.push_back({fmt::format("cannot place \"{}\"", node), "--place", "the graph has no node of that name", "`dovetail compile --dump integer` lists the nodes"});
    }
  }
  std::string placement_of(NodeId id) const {
    const graph::Node& node = graph_.node(id);
    if (const auto it = options_.place.find(node.name); it != options_.place.end()) return it->second;
    for (const std::string& origin : node.origins)
      if (const auto it = options_.place.find(origin); it != options_.place.end()) return it->second;
    return {};
  }

  // ---- Placing ------------------------------------------------------------------------------------------------------------------

  Result<Match> try_target(std::size_t t, NodeId id) const {
    const Target& target = *options_.available[t];
    DOVETAIL_ASSIGN(Match match, select(target, graph_, id));
    for (const NodeId node : match.nodes) {
      const std::string elsewhere = placement_of(node);
      if (elsewhere.empty() || elsewhere == target.name()) continue;
      return Diagnostic{fmt::format("{} cannot take {}", target.name(), graph_.node(id).name), graph_.node(id).name,
                        fmt::format("the pattern \"{}\" would cover {}, which is placed on {}", match.row, graph_.node(node).name, elsewhere), "place both on one target"};
    }
    return match;
  }

  void place(NodeId id) {
    const std::string wanted = placement_of(id);
    std::vector<std::string> order = wanted.empty() ? options_.targets : std::vector{wanted};
    const std::size_t asked = order.size();
    if (wanted.empty())
      for (const std::string& name : options_.fallback)
        if (std::ranges::find(order, name) == order.end()) order.push_back(name);
    Diagnostics refusals;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == asked && options_.strict) break;
      const std::size_t t = *find(order[i]);
      auto match = try_target(t, id);
      if (match.ok()) {
        covered_.insert(match->nodes.begin(), match->nodes.end());
        if (i >= asked) result_.fallback.insert(id);
        units_.push_back({t, *std::move(match)});
        return;
      }
      const Diagnostic& refusal = match.errors().front();
      result_.refused[id].push_back({order[i], refusal.why});
      refusals.push_back(refusal);
    }
    covered_.insert(id);
    for (Diagnostic& refusal : refusals) {
      if (wanted.empty()) refusal.hint = "add cpu to --target, leave out --strict, or change the model";
      errors_.push_back(std::move(refusal));
    }
  }

  // ---- Regions ------------------------------------------------------------------------------------------------------------------

  void group() {
    std::map<NodeId, std::size_t> unit_of;
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (const NodeId node : units_[u].match.nodes) unit_of[node] = u;
    std::vector<std::vector<std::size_t>> reads(units_.size());
    std::vector<std::size_t> colors;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      colors.push_back(units_[u].target);
      for (const ValueId input : units_[u].match.inputs)
        if (const NodeId producer = graph_.value(input).producer; producer.valid()) reads[u].push_back(unit_of.at(producer));
    }
    for (const std::vector<std::size_t>& members : group_convex(reads, colors)) {
      PartitionRegion part{options_.available[units_[members.front()].target], {}};
      part.region.name = fmt::format("region{}", result_.regions.size());
      for (const std::size_t u : members) part.region.matches.push_back(std::move(units_[u].match));
      find_borders(part.region);
      result_.regions.push_back(std::move(part));
    }
  }

  void find_borders(Region& region) const {
    const std::vector<NodeId> nodes = region.nodes();
    const std::set<NodeId> own(nodes.begin(), nodes.end());
    for (const Match& match : region.matches) {
      for (const ValueId input : match.inputs)
        if (!own.count(graph_.value(input).producer) && std::ranges::find(region.inputs, input) == region.inputs.end()) region.inputs.push_back(input);
      for (const ValueId output : match.outputs)
        if (graph_.is_output(output) || std::ranges::any_of(graph_.users(output), [&](NodeId user) { return !own.count(user); })) region.outputs.push_back(output);
    }
  }

  const Graph& graph_;
  const PartitionOptions& options_;
  Diagnostics errors_;
  Partition result_;
  std::vector<Unit> units_;
  std::set<NodeId> covered_;
};

}  // namespace

Result<Partition> partition(const Graph& graph, const PartitionOptions& options) { return Partitioner(graph, options).run(); }

}  // namespace dovetail
