#include "compiler/target/target.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dovetail {

using graph::Graph;
using graph::NodeId;

std::vector<NodeId> Region::nodes() const {
  std::vector<NodeId> all;
  for (const Match& match : matches) all.insert(all.end(), match.nodes.begin(), match.nodes.end());
  return all;
}

std::string Target::no_pattern(const Graph& graph, NodeId node) const { return fmt::format("no pattern of {} ends in {}", name(), graph.node(node).op); }

Result<Match> select(const Target& target, const Graph& graph, NodeId id) {
  const graph::Node& node = graph.node(id);
  // A predicate has seen the whole pattern: what it says weighs more than a pattern that did not match.
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
    std::any body;
    if (row.take) {
      auto taken = row.take(graph, *found);
      if (!taken.ok()) {
        note(refusals, taken.errors().front());
        hint = taken.errors().front().hint;
        continue;
      }
      body = *std::move(taken);
    }
    Match match{row.name, found->nodes, found->inputs, {}, std::move(body)};
    for (const graph::ValueId output : node.outputs)
      if (output.valid()) match.outputs.push_back(output);
    return match;
  }
  const std::vector<std::string>& reasons = refusals.empty() ? mismatches : refusals;
  return Diagnostic{fmt::format("{} does not take {}", target.name(), node.name), node.name,
                    reasons.empty() ? target.no_pattern(graph, id) : fmt::format("{}", fmt::join(reasons, "; ")),
                    hint.empty() ? "choose another target for it" : hint};
}

PatternRow pattern_row(std::string name, std::string_view text, decltype(PatternRow::take) take) {
  auto pattern = pattern::parse(text);
  DOVETAIL_CHECK(pattern.ok(), to_string(pattern.errors()));
  return {std::move(name), *std::move(pattern), std::move(take)};
}

}  // namespace dovetail
