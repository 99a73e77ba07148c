#include "compiler/partition/partition.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/partition/group_convex.h"

namespace dovetail {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

constexpr std::pair<Offload, std::string_view> kOffload[] = {
    {Offload::always, "always"}, {Offload::possible, "possible"}, {Offload::cost, "cost"}};

// Nodes that are placed together.
struct Unit {
  std::size_t target;  // index in options.available
  Match match;
};

class Partitioner {
 public:
  Partitioner(const Graph& graph, const PartitionOptions& options) : graph_(graph), options_(options) {}

  Result<Partition> run() {
    check_options();
    if (options_.control_flow != nullptr) options_.available.push_back(options_.control_flow);
    if (!errors_.empty()) return errors_;
    const std::vector<NodeId> nodes = graph_.topological_order();
    // Later nodes first: a match is found at its last node and covers the nodes before it.
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
      if (!covered_.count(*node)) place(*node);
    if (!errors_.empty()) return errors_;
    std::reverse(units_.begin(), units_.end());
    // Each iteration moves nodes to targets that come later in the user's order, so the loop terminates.
    do group();
    while (give_up_regions());
    return std::move(result_);
  }

 private:
  // ---- Options
  // ------------------------------------------------------------------------------------------------------------------

  std::optional<std::size_t> find(const std::string& name) const {
    for (std::size_t t = 0; t < options_.available.size(); ++t)
      if (options_.available[t]->name() == name) return t;
    return std::nullopt;
  }
  void check_target(const std::string& name, const std::string& where) {
    if (find(name)) return;
    std::vector<std::string_view> names;
    for (const TargetPointer& target : options_.available) names.push_back(target->name());
    errors_.push_back({fmt::format("unknown target \"{}\"", name), where,
                       fmt::format("the targets are {}", fmt::join(names, ", ")), "choose one of these targets"});
  }
  void check_options() {
    std::set<std::string_view> names;
    for (const TargetPointer& target : options_.available)
      if (!names.insert(target->name()).second)
        errors_.push_back({fmt::format("two targets have the name {}", target->name()), "CompileOptions::available",
                           "--target could not distinguish them", "give each back end a unique name"});
    for (const std::string& target : options_.targets) check_target(target, "--target");
    for (const auto& [name, target] : options_.place) {
      check_target(target, "--place");
      const std::string& node = name;
      const bool known = std::ranges::any_of(graph_.nodes, [&](const graph::Node& n) {
        return !n.removed && (n.name == node || std::ranges::find(n.origins, node) != n.origins.end());
      });
      if (!known)
        errors_.push_back({fmt::format("cannot place \"{}\"", node), "--place", "the graph has no node of this name",
                           "`dovetail compile --dump integer` lists the nodes"});
    }
  }
  std::string placement_of(NodeId id) const {
    const graph::Node& node = graph_.node(id);
    if (const auto it = options_.place.find(node.name); it != options_.place.end()) return it->second;
    for (const std::string& origin : node.origins)
      if (const auto it = options_.place.find(origin); it != options_.place.end()) return it->second;
    return {};
  }

  // ---- Placing
  // ------------------------------------------------------------------------------------------------------------------

  Result<Match> try_target(std::size_t t, NodeId id) const {
    const Target& target = *options_.available[t];
    DOVETAIL_ASSIGN(Match match, select(target, graph_, id));
    for (const NodeId node : match.nodes) {
      if (const auto given_up = options_.given_up.find(node); given_up != options_.given_up.end())
        for (const Refusal& refusal : given_up->second)
          if (refusal.target == target.name())
            return Diagnostic{fmt::format("{} does not support {}", target.name(), graph_.node(id).name),
                              graph_.node(id).name, refusal.why, "place part of the model on another target"};
      const std::string elsewhere = placement_of(node);
      if (elsewhere.empty() || elsewhere == target.name()) continue;
      return Diagnostic{fmt::format("{} does not support {}", target.name(), graph_.node(id).name),
                        graph_.node(id).name,
                        fmt::format("the pattern \"{}\" would cover {}, which is placed on {}", match.row,
                                    graph_.node(node).name, elsewhere),
                        "place both on one target"};
    }
    return match;
  }

  Unit unit(std::size_t target, Match match) const {
    match.cost = options_.available[target]->cost(graph_, match);
    return {target, std::move(match)};
  }

  void place(NodeId id) {
    if (options_.control_flow != nullptr && !graph_.node(id).subgraphs.empty()) {
      auto match = select(*options_.control_flow, graph_, id);
      DOVETAIL_CHECK(match.ok(), graph_.node(id).op);
      covered_.insert(id);
      units_.push_back(unit(options_.available.size() - 1, *std::move(match)));
      return;
    }
    const std::string placed = placement_of(id);
    std::vector<std::string> order = placed.empty() ? options_.targets : std::vector{placed};
    const std::size_t asked = order.size();
    if (placed.empty())
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
        units_.push_back(unit(t, *std::move(match)));
        return;
      }
      const Diagnostic& refusal = match.errors().front();
      result_.refused[id].push_back({order[i], refusal.why});
      refusals.push_back(refusal);
    }
    covered_.insert(id);
    for (Diagnostic& refusal : refusals) {
      if (placed.empty() && !options_.fallback.empty())
        refusal.hint = fmt::format("add {} to --target, omit --strict, or change the model", options_.fallback.front());
      errors_.push_back(std::move(refusal));
    }
  }

  // ---- Regions
  // ------------------------------------------------------------------------------------------------------------------

  void group() {
    result_.regions.clear();
    groups_.clear();
    std::map<NodeId, std::size_t> unit_of;
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (const NodeId node : units_[u].match.nodes) unit_of[node] = u;
    std::vector<std::vector<std::size_t>> reads(units_.size());
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (const ValueId input : units_[u].match.inputs)
        if (const NodeId producer = graph_.value(input).producer; producer.valid())
          reads[u].push_back(unit_of.at(producer));
    groups_ = group_convex(reads, colors(reads));
    for (const std::vector<std::size_t>& members : groups_) {
      PartitionRegion part{options_.available[units_[members.front()].target], {}, {}, 0, {}};
      part.region.name = graph_.apart ? graph_.node(units_[members.back()].match.nodes.back()).name
                                      : fmt::format("region{}", result_.regions.size());
      for (const std::size_t u : members) {
        part.region.matches.push_back(units_[u].match);
        part.cost += units_[u].match.cost;
      }
      find_borders(part.region);
      const auto border = [&](ValueId value) { return part.target->border_seconds(graph_.value(value).type); };
      const auto shares_memory = [&](NodeId node) {
        return options_.available[units_[unit_of.at(node)].target]->memory() == part.target->memory();
      };
      for (const ValueId input : part.region.inputs)
        if (const NodeId producer = graph_.value(input).producer; !producer.valid() || !shares_memory(producer))
          part.border_seconds += border(input);
      for (const ValueId output : part.region.outputs)
        if (graph_.is_output(output) || !std::ranges::all_of(graph_.users(output), shares_memory))
          part.border_seconds += border(output);
      result_.regions.push_back(std::move(part));
    }
  }

  // Units of equal color may share a region: those of one target, and if the graph's parts are apart, of one part.
  std::vector<std::size_t> colors(const std::vector<std::vector<std::size_t>>& reads) const {
    std::vector<std::size_t> first(units_.size());  // of the part, as far as it is known
    const auto part = [&](std::size_t u) {
      while (first[u] != u) u = first[u] = first[first[u]];
      return u;
    };
    std::iota(first.begin(), first.end(), std::size_t{0});
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (const std::size_t other : reads[u]) first[part(u)] = part(other);
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
    std::vector<std::size_t> colors;
    for (std::size_t u = 0; u < units_.size(); ++u)
      colors.push_back(known.try_emplace({units_[u].target, graph_.apart ? part(u) : 0}, known.size()).first->second);
    return colors;
  }

  // Moves regions that do not pay off to other targets. Returns false if all regions pay off.
  bool give_up_regions() {
    std::vector<bool> gone(units_.size(), false);
    std::vector<Unit> instead;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      PartitionRegion& part = result_.regions[g];
      std::vector<Unit> units = other_units(part.region, units_[groups_[g].front()].target);
      if (units.empty()) continue;
      part.elsewhere.emplace();
      for (const Unit& unit : units) *part.elsewhere += unit.match.cost;
      // The transfers at the region's border remain if targets with the same memory run the region.
      const bool other_memory = std::ranges::any_of(
          units, [&](const Unit& unit) { return options_.available[unit.target]->memory() != part.target->memory(); });
      const double border_seconds = other_memory ? part.border_seconds : 0;
      const double saved = part.elsewhere->seconds - part.cost.seconds;
      const bool pays = options_.offload == Offload::always ||
                        (options_.offload == Offload::possible ? part.elsewhere->seconds : saved) > border_seconds;
      if (pays) continue;
      const std::string why =
          options_.offload == Offload::possible
              ? fmt::format("the transfers of its region of {} cost {}, all of it on {} costs {}", counted(part.region),
                            microseconds(border_seconds), options_.available[units.front().target]->name(),
                            microseconds(part.elsewhere->seconds))
              : fmt::format("its region of {} saves {}, the transfers cost {}", counted(part.region),
                            microseconds(saved), microseconds(border_seconds));
      for (const std::size_t u : groups_[g]) gone[u] = true;
      for (Unit& unit : units) {
        result_.refused[unit.match.nodes.back()].push_back({std::string(part.target->name()), why});
        instead.push_back(std::move(unit));
      }
    }
    if (instead.empty()) return false;
    for (std::size_t u = 0; u < units_.size(); ++u)
      if (!gone[u]) instead.push_back(std::move(units_[u]));
    // Units in the order of the graph: the execution order follows it where dependencies allow.
    std::map<NodeId, std::size_t> position;
    for (const NodeId node : graph_.topological_order()) position.emplace(node, position.size());
    std::ranges::sort(instead, {}, [&](const Unit& unit) { return position.at(unit.match.nodes.back()); });
    units_ = std::move(instead);
    return true;
  }

  // The region's nodes assigned to targets that the user listed after `target`; empty if those targets do not support
  // all nodes, or if the user placed one of the nodes.
  std::vector<Unit> other_units(const GraphRegion& region, std::size_t target) const {
    const std::vector<NodeId> nodes = region.nodes();
    if (std::ranges::any_of(nodes, [&](NodeId id) { return !placement_of(id).empty(); })) return {};
    auto later = std::ranges::find(options_.targets, options_.available[target]->name());
    if (later == options_.targets.end()) return {};
    ++later;
    const std::set<NodeId> own(nodes.begin(), nodes.end());
    std::set<NodeId> covered;
    std::vector<Unit> units;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (covered.count(*node)) continue;
      bool taken = false;
      for (auto name = later; name != options_.targets.end() && !taken; ++name) {
        const std::size_t t = *find(*name);
        auto match = try_target(t, *node);
        if (!match.ok() ||
            !std::ranges::all_of(match->nodes, [&](NodeId id) { return own.count(id) && !covered.count(id); }))
          continue;
        covered.insert(match->nodes.begin(), match->nodes.end());
        units.push_back(unit(t, *std::move(match)));
        taken = true;
      }
      if (!taken) return {};
    }
    return units;
  }

  static std::string microseconds(double seconds) { return fmt::format("{:.3g} us", seconds * 1e6); }
  static std::string counted(const GraphRegion& region) {
    return fmt::format("{} operation{}", region.matches.size(), region.matches.size() == 1 ? "" : "s");
  }

  void find_borders(GraphRegion& region) const {
    const std::vector<NodeId> nodes = region.nodes();
    const std::set<NodeId> own(nodes.begin(), nodes.end());
    std::set<ValueId> known;
    for (const Match& match : region.matches) {
      for (const ValueId input : match.inputs)
        if (!own.count(graph_.value(input).producer) && known.insert(input).second) region.inputs.push_back(input);
      for (const ValueId output : match.outputs)
        if (graph_.is_output(output) ||
            std::ranges::any_of(graph_.users(output), [&](NodeId user) { return !own.count(user); }))
          region.outputs.push_back(output);
    }
  }

  const Graph& graph_;
  PartitionOptions options_;
  Diagnostics errors_;
  Partition result_;
  std::vector<Unit> units_;
  std::vector<std::vector<std::size_t>> groups_;  // the units of each region
  std::set<NodeId> covered_;
};

}  // namespace

std::string_view name(Offload offload) {
  for (const auto& [mode, text] : kOffload)
    if (mode == offload) return text;
  return {};
}
std::optional<Offload> offload_from_name(std::string_view name) {
  for (const auto& [mode, text] : kOffload)
    if (text == name) return mode;
  return std::nullopt;
}

Result<Partition> partition(const Graph& graph, const PartitionOptions& options) {
  return Partitioner(graph, options).run();
}

Result<std::vector<RegionPlanPointer>> plan_regions(const Graph& graph, const Partition& parts,
                                                    const PlanOptions& options) {
  std::vector<RegionPlanPointer> plans;
  for (const PartitionRegion& part : parts.regions) {
    DOVETAIL_ASSIGN(RegionPlanPointer plan, part.target->plan(graph, part.region, options));
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<KernelOffer> offers_of(std::span<const RegionPlanPointer> plans) {
  std::vector<KernelOffer> offers;
  for (const RegionPlanPointer& plan : plans) offers.insert(offers.end(), plan->offers().begin(), plan->offers().end());
  return offers;
}

void expose_all(Partition& parts) {
  for (PartitionRegion& part : parts.regions) {
    part.region.outputs.clear();
    for (const Match& match : part.region.matches)
      part.region.outputs.insert(part.region.outputs.end(), match.outputs.begin(), match.outputs.end());
  }
}

}  // namespace dovetail
