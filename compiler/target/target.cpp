#include "compiler/target/target.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/saturating.h"
#include "compiler/ops/op.h"
#include "loops/operations.h"

namespace dovetail {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

std::vector<NodeId> GraphRegion::nodes() const {
  std::vector<NodeId> all;
  for (const Match& match : matches) all.insert(all.end(), match.nodes.begin(), match.nodes.end());
  return all;
}

std::string Target::no_pattern(const Graph& graph, NodeId node) const {
  return fmt::format("no pattern of {} ends in {}", name(), graph.node(node).op);
}

Result<Match> select(const Target& target, const Graph& graph, NodeId id) {
  const graph::Node& node = graph.node(id);
  // A predicate has seen a complete match: its reason is more informative than a pattern that did not match.
  std::vector<std::string> refusals, mismatches;
  std::string hint;
  const auto note = [](std::vector<std::string>& list, const Diagnostic& diagnostic) {
    if (std::ranges::find(list, diagnostic.why) == list.end()) list.push_back(diagnostic.why);
  };
  for (const PatternRow& row : target.patterns()) {
    if (!pattern::may_end_in(row.pattern, node.op)) continue;
    auto found = pattern::match(graph, id, row.pattern);
    if (!found.ok()) {
      note(mismatches, found.errors().front());
      continue;
    }
    TakenPointer made;
    if (row.take) {
      auto taken = row.take(graph, *found);
      if (!taken.ok()) {
        note(refusals, taken.errors().front());
        hint = taken.errors().front().hint;
        continue;
      }
      made = *std::move(taken);
    }
    Match match{row.name, found->nodes, found->inputs, {}, std::move(made), {}};
    for (const graph::ValueId output : node.outputs)
      if (output.valid()) match.outputs.push_back(output);
    return match;
  }
  const std::vector<std::string>& reasons = refusals.empty() ? mismatches : refusals;
  return Diagnostic{fmt::format("{} does not support {}", target.name(), node.name), node.name,
                    reasons.empty() ? target.no_pattern(graph, id) : fmt::format("{}", fmt::join(reasons, "; ")),
                    hint.empty() ? "choose another target for the node" : hint};
}

Cost& Cost::operator+=(const Cost& other) {
  seconds += other.seconds;
  operations = saturating_sum(operations, other.operations);
  macs = saturating_sum(macs, other.macs);
  bytes = saturating_sum(bytes, other.bytes);
  cycles = saturating_sum(cycles, other.cycles);
  return *this;
}

Cost count_work(const Graph& graph, const std::vector<NodeId>& nodes) {
  Cost work;
  std::set<graph::ValueId> moved;
  const auto move = [&](graph::ValueId id) {
    if (!id.valid() || !moved.insert(id).second) return;
    const graph::TensorType& type = graph.value(id).type;
    work.bytes += static_cast<std::uint64_t>(element_count(type.shape) * size_bytes(type.dtype));
  };
  const std::set<NodeId> own(nodes.begin(), nodes.end());
  for (const NodeId id : nodes) {
    const graph::Node& node = graph.node(id);
    if (const auto program = ops::define(graph, id); program.ok()) {
      const loops::Operations operations = loops::count_operations(*program);
      work.operations = saturating_sum(work.operations, operations.all());
      work.macs = saturating_sum(work.macs, operations.macs);
    }
    for (const graph::ValueId input : node.inputs)
      if (input.valid() && !own.count(graph.value(input).producer)) move(input);
    for (const graph::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const std::vector<NodeId> users = graph.users(output);
      if (graph.is_output(output) || users.empty() ||
          std::ranges::any_of(users, [&](NodeId user) { return !own.count(user); }))
        move(output);
    }
  }
  return work;
}

PatternRow pattern_row(std::string name, std::string_view text, decltype(PatternRow::take) take) {
  auto pattern = pattern::parse(text);
  DOVETAIL_CHECK(pattern.ok(), to_string(pattern.errors()));
  return {std::move(name), *std::move(pattern), std::move(take)};
}

std::vector<KernelOffer> plain_offer(const Graph& graph, const GraphRegion& region) {
  KernelOffer kernel{region.matches.back().nodes.back()};
  LayoutVariable plain{{""}};
  for (const ValueId input : region.inputs)
    if (!graph.is_constant(input)) plain.reads.push_back(input);
  // Also inner values: a region may be asked for them.
  for (const NodeId node : region.nodes())
    for (const ValueId output : graph.node(node).outputs)
      if (output.valid()) plain.writes.push_back(output);
  kernel.variables.push_back(std::move(plain));
  return {std::move(kernel)};
}

}  // namespace dovetail
