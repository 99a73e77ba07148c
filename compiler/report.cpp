#include "compiler/report.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/pipeline.h"

namespace dovetail {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

std::uint64_t bytes_of(const Graph& graph, ValueId id) {
  const graph::TensorType& type = graph.value(id).type;
  return static_cast<std::uint64_t>(element_count(type.shape) * size_bytes(type.dtype));
}

// Why a node is gone without a successor.
std::string reason(std::string_view pass, std::string_view op) {
  struct Row {
    std::string_view pass, why;
  };
  static constexpr Row kReasons[] = {
      {"fold_constants", "its value is constant"},
      {"eliminate_identities", "it changes nothing"},
  };
  for (const Row& row : kReasons)
    if (row.pass == pass) return std::string(row.why);
  const ops::OpDef* row = ops::find(op);
  if (row != nullptr && row->quantizes) return "into the integer form of its neighbors";
  return pass == "eliminate_dead_nodes" ? "nothing reads it" : "its neighbors no longer need it";
}

std::string refusals_text(const std::vector<Refusal>& refusals) {
  if (refusals.size() == 1) return refusals.front().why;
  std::string text;
  for (const Refusal& refusal : refusals)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", refusal.target, refusal.why);
  return text;
}

Json to_json(const Cost& cost) {
  Json json{{"seconds", cost.seconds}, {"operations", cost.operations}, {"macs", cost.macs}, {"bytes", cost.bytes}};
  if (cost.cycles != 0) json["cycles"] = cost.cycles;
  return json;
}
std::optional<Cost> cost_from_json(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Cost cost;
  json.at("seconds").get_to(cost.seconds);
  json.at("operations").get_to(cost.operations);
  json.at("macs").get_to(cost.macs);
  json.at("bytes").get_to(cost.bytes);
  cost.cycles = json.value("cycles", std::uint64_t{0});
  return cost;
}

}  // namespace

NodeFates::NodeFates(const Graph& imported) {
  for (const NodeId id : imported.live_nodes()) folded_by_[imported.node(id).name];
}

void NodeFates::observe(const Graph& graph, std::string_view pass) {
  std::set<std::string_view> alive;
  for (const NodeId id : graph.live_nodes()) alive.insert(graph.node(id).name);
  for (auto& [node, by] : folded_by_)
    if (by.empty() && !alive.count(node)) by = pass;
}

std::string NodeFates::pass_that_folded(const std::string& node) const {
  const auto it = folded_by_.find(node);
  return it == folded_by_.end() ? "" : it->second;
}

namespace {

// One imported node may have become several. The row shows the one with the most operations, with the cost of all that
// are on its target.
void keep(std::map<std::string, NodePlacement>& rows, const std::string& name, NodePlacement row) {
  const auto known = rows.find(name);
  if (known == rows.end() || !known->second.cost) {
    rows.insert_or_assign(name, std::move(row));
    return;
  }
  NodePlacement& kept = known->second;
  const bool same = row.target == kept.target, larger = row.cost->operations > kept.cost->operations;
  Cost both = *kept.cost;
  both += *row.cost;
  if (larger) kept = std::move(row);
  if (same) kept.cost = both;
}

}  // namespace

std::vector<NodePlacement> place_nodes(const Graph& imported, const Graph& graph, const Partition& parts,
                                       const NodeFates& fates) {
  std::map<std::string, NodePlacement> by_name;
  const auto fold = [&](const std::string& node, const std::string& into, const std::string& pass) {
    NodePlacement row{node, "", std::string(kFolded), "into " + into};
    row.into = into;
    row.pass = pass;
    by_name.insert({node, std::move(row)});
  };
  std::set<std::string> names;
  for (const NodeId id : imported.live_nodes()) names.insert(imported.node(id).name);
  for (const PartitionRegion& part : parts.regions)
    for (const Match& match : part.region.matches) {
      const NodeId last = match.nodes.back();
      const graph::Node& node = graph.node(last);
      // A node created by a pass is listed under the first imported node that it represents.
      const std::string own = names.count(node.name) || node.origins.empty() ? node.name : node.origins.front();
      NodePlacement row{own, "", std::string(parts.fallback.count(last) ? kOnHost : part.target->name()), ""};
      if (const auto refused = parts.refused.find(last); refused != parts.refused.end()) row.refused = refused->second;
      row.why = refusals_text(row.refused);
      row.row = match.row;
      row.region = part.region.name;
      row.kernel = {node.name};
      row.cost = match.cost;
      keep(by_name, own, std::move(row));
      for (const std::string& origin : node.origins)
        if (origin != own) fold(origin, own, fates.pass_that_folded(origin));
      for (std::size_t i = 0; i + 1 < match.nodes.size(); ++i) {
        const graph::Node& inner = graph.node(match.nodes[i]);
        fold(inner.name, own, "partition");
        for (const std::string& origin : inner.origins)
          fold(origin, own, origin == inner.name ? "partition" : fates.pass_that_folded(origin));
      }
    }
  std::vector<NodePlacement> rows;
  for (const NodeId id : imported.live_nodes()) {
    const graph::Node& node = imported.node(id);
    const auto it = by_name.find(node.name);
    NodePlacement row = it != by_name.end() ? it->second : NodePlacement{node.name, "", std::string(kFolded), ""};
    if (it == by_name.end()) {
      row.pass = fates.pass_that_folded(node.name);
      row.why = reason(row.pass, node.op);
    }
    row.op = node.op;
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_kernels(std::vector<NodePlacement>& rows, const std::vector<GroupReport>& groups) {
  std::unordered_map<std::string_view, const GroupReport*> group_of;  // the last group that computes the node
  for (const GroupReport& group : groups)
    for (const std::string& node : group.nodes) group_of[node] = &group;
  for (NodePlacement& row : rows) {
    if (row.kernel.empty()) continue;
    const auto group = group_of.find(row.kernel.front());
    row.kernel = group == group_of.end() ? std::vector<std::string>{} : group->second->nodes;
  }
}

PlacementSummary& PlacementSummary::operator+=(PlacementSummary inner) {
  for (const auto& [target, count] : inner.nodes) nodes[target] += count;
  for (const auto& [target, count] : inner.macs) macs[target] += count;
  for (RegionSummary& region : inner.regions) regions.push_back(std::move(region));
  moved_bytes += inner.moved_bytes;
  moved_tensors += inner.moved_tensors;
  return *this;
}

PlacementSummary summarize(const Graph& graph, const Partition& parts, const std::vector<NodePlacement>& rows) {
  PlacementSummary summary;
  for (const NodePlacement& row : rows) {
    ++summary.nodes[row.target];
    if (row.cost) summary.macs[row.target] += row.cost->macs;
  }
  std::map<NodeId, std::string_view> target_of;
  for (const PartitionRegion& part : parts.regions)
    for (const NodeId node : part.region.nodes()) target_of[node] = part.target->name();
  for (const PartitionRegion& part : parts.regions) {
    RegionSummary region{part.region.name,
                         std::string(part.target->name()),
                         part.region.matches.size(),
                         part.cost,
                         part.border_seconds,
                         part.elsewhere,
                         0,
                         0};
    for (const ValueId input : part.region.inputs) {
      region.read_bytes += bytes_of(graph, input);
      const NodeId producer = graph.value(input).producer;
      if (!producer.valid() || target_of.at(producer) == part.target->name()) continue;
      summary.moved_bytes += bytes_of(graph, input);
      ++summary.moved_tensors;
    }
    for (const ValueId output : part.region.outputs) region.given_bytes += bytes_of(graph, output);
    summary.regions.push_back(std::move(region));
  }
  for (const ValueId input : graph.inputs) summary.input_bytes += bytes_of(graph, input);
  for (const ValueId output : graph.outputs) summary.output_bytes += bytes_of(graph, output);
  return summary;
}

Json to_json(const NodePlacement& row) {
  Json json{{"node", row.node}, {"op", row.op}, {"target", row.target}, {"why", row.why}};
  if (row.target == kFolded) {
    json["into"] = row.into.empty() ? Json() : Json(row.into);
    json["pass"] = row.pass;
    return json;
  }
  Json refused = Json::array();
  for (const Refusal& refusal : row.refused) refused.push_back({{"target", refusal.target}, {"why", refusal.why}});
  json.update({{"row", row.row},
               {"region", row.region},
               {"kernel", row.kernel},
               {"refused", refused},
               {"cost", row.cost ? to_json(*row.cost) : Json()}});
  return json;
}

Json to_json(const PlacementSummary& summary) {
  Json regions = Json::array();
  for (const RegionSummary& region : summary.regions)
    regions.push_back({{"name", region.name},
                       {"target", region.target},
                       {"operations", region.operations},
                       {"cost", to_json(region.cost)},
                       {"border_seconds", region.border_seconds},
                       {"elsewhere", region.elsewhere ? to_json(*region.elsewhere) : Json()},
                       {"read_bytes", region.read_bytes},
                       {"given_bytes", region.given_bytes}});
  return {{"nodes", summary.nodes},
          {"macs", summary.macs},
          {"regions", regions},
          {"moved_bytes", summary.moved_bytes},
          {"moved_tensors", summary.moved_tensors},
          {"input_bytes", summary.input_bytes},
          {"output_bytes", summary.output_bytes}};
}

NodePlacement placement_from_json(const Json& json) {
  NodePlacement row{json.at("node"), json.at("op"), json.at("target"), json.at("why")};
  if (row.target == kFolded) {
    if (!json.at("into").is_null()) json.at("into").get_to(row.into);
    json.at("pass").get_to(row.pass);
    return row;
  }
  json.at("row").get_to(row.row);
  json.at("region").get_to(row.region);
  json.at("kernel").get_to(row.kernel);
  for (const Json& refusal : json.at("refused")) row.refused.push_back({refusal.at("target"), refusal.at("why")});
  row.cost = cost_from_json(json.at("cost"));
  return row;
}

PlacementSummary summary_from_json(const Json& json) {
  PlacementSummary summary;
  json.at("nodes").get_to(summary.nodes);
  json.at("macs").get_to(summary.macs);
  for (const Json& region : json.at("regions"))
    summary.regions.push_back({region.at("name"), region.at("target"), region.at("operations"),
                               cost_from_json(region.at("cost")).value_or(Cost{}), region.at("border_seconds"),
                               cost_from_json(region.at("elsewhere")), region.at("read_bytes"),
                               region.at("given_bytes")});
  json.at("moved_bytes").get_to(summary.moved_bytes);
  json.at("moved_tensors").get_to(summary.moved_tensors);
  json.at("input_bytes").get_to(summary.input_bytes);
  json.at("output_bytes").get_to(summary.output_bytes);
  return summary;
}

std::string to_string(const std::vector<NodePlacement>& rows) {
  std::string text;
  for (const NodePlacement& row : rows)
    text += fmt::format("{:<32} {:<20} {:<12} {}\n", row.node, row.op, row.target, row.why);
  return text;
}

Json relayout_report(const graph::Graph& graph, const LayoutPlan& layouts) {
  Json rows = Json::array();
  for (const Relayout& relayout : layouts.relayouts) {
    Json readers = Json::array();
    for (const graph::NodeId reader : relayout.readers) readers.push_back(graph.node(reader).name);
    rows.push_back({{"value", graph.value(relayout.value).name},
                    {"from", relayout.from},
                    {"to", relayout.to},
                    {"bytes", relayout.bytes},
                    {"readers", readers}});
  }
  return rows;
}

Json compile_report(const Compiled& result, const ReportParts& parts) {
  Json nodes = Json::array();
  for (const NodePlacement& row : result.placement) nodes.push_back(to_json(row));
  Json stages = Json::array();
  for (const StageTime& stage : result.stages) stages.push_back({{"stage", stage.name}, {"seconds", stage.seconds}});
  Json groups = Json::array();
  for (const GroupReport& group : parts.groups)
    groups.push_back({{"name", group.name},
                      {"schedule", group.kind},
                      {"nodes", group.nodes},
                      {"trace", group.trace},
                      {"notes", group.notes},
                      {"unfused", group.unfused}});
  Json kernels = Json::array();
  for (const KernelReport& kernel : parts.kernels)
    kernels.push_back({{"symbol", kernel.symbol},
                       {"uses", kernel.uses},
                       {"code_bytes", kernel.code_bytes},
                       {"compile_seconds", kernel.seconds},
                       {"notes", kernel.notes}});
  Json schedules = Json::array();
  for (const ScheduleReport& schedule : result.schedules)
    schedules.push_back({{"name", schedule.name},
                         {"target", schedule.target},
                         {"kind", schedule.kind},
                         {"task", schedule.origin.key},
                         {"recorded", schedule.origin.recorded},
                         {"counted", schedule.origin.counted},
                         {"from", schedule.origin.text}});
  Json codes = Json::array();
  for (const CodeReport& code : result.codes) {
    codes.push_back({{"region", code.region}, {"target", code.target}});
    codes.back().update(code.facts);
  }
  const Json memory{
      {"bytes", parts.memory.bytes}, {"bound_bytes", parts.memory.bound_bytes}, {"sum_bytes", parts.memory.sum_bytes}};
  return Json{{"memory", memory},
              {"relayouts", parts.relayouts},
              {"groups", groups},
              {"schedules", schedules},
              {"codes", codes},
              {"kernels", kernels},
              {"model", result.imported.name},
              {"nodes", nodes},
              {"summary", to_json(result.summary)},
              {"passes", parts.passes},
              {"stages", stages}};
}

Json without_times(Json report) {
  report.erase("stages");
  for (const char* part : {"kernels", "codes"})
    for (Json& row : report[part]) row.erase("compile_seconds");
  return report;
}

}  // namespace dovetail
