#include "driver/work_shares.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "bundle/code/target_facts.h"

namespace dovetail::driver {

namespace {

// The remedy for refusals whose reason contains these words (compiler/target/accel, compiler/partition).
struct Remedy {
  std::string_view words, text;
};
constexpr std::array kRemedies{
    Remedy{"computes in floating point",
           "`dovetail quantize MODEL.onnx -o Q.onnx --samples S`; for a model of the zoo: `dovetail zoo NAME --int8`"},
    Remedy{"quantized as they come",
           "quantize the float model with samples: `dovetail quantize MODEL.onnx -o Q.onnx --samples S`"},
    Remedy{"the transfers", "--offload always"},
    Remedy{"is listed before it", "put accel first in --target"},
    Remedy{"was placed elsewhere", "leave out --place"},
};

const Remedy* remedy_of(std::string_view why) {
  const auto row =
      std::ranges::find_if(kRemedies, [&](const Remedy& remedy) { return why.find(remedy.words) != why.npos; });
  return row == kRemedies.end() ? nullptr : &*row;
}

// Why the accelerator refused a node that multiplies elsewhere.
std::string refusal_of(const NodePlacement& row) {
  for (const Refusal& refusal : row.refused)
    if (bundle::runs_on(bundle::TargetDevice::accelerator, refusal.target)) return refusal.why;
  return {};
}

}  // namespace

std::map<std::string, double> mac_shares(const PlacementSummary& summary) {
  std::uint64_t all = 0;
  for (const auto& [target, count] : summary.macs) all += count;
  std::map<std::string, double> shares;
  for (const auto& [target, count] : summary.macs)
    if (count > 0) shares[target] = static_cast<double>(count) / static_cast<double>(all);
  return shares;
}

Json to_json(const LeftAccelerator& left) {
  return {{"why", left.why}, {"nodes", left.nodes}, {"of", left.of}, {"remedy", left.remedy}};
}

std::optional<LeftAccelerator> left_accelerator(std::span<const NodePlacement> placement,
                                                const PlacementSummary& summary, std::span<const std::string> targets) {
  const auto accel = std::ranges::find_if(
      targets, [](const std::string& target) { return bundle::runs_on(bundle::TargetDevice::accelerator, target); });
  if (accel == targets.end()) return std::nullopt;
  if (const auto own = summary.macs.find(*accel); own != summary.macs.end() && own->second > 0) return std::nullopt;
  std::map<std::string, std::map<std::string, std::size_t>>
      refusals;  // by cause: number of occurrences of each wording
  LeftAccelerator left;
  for (const NodePlacement& row : placement) {
    if (!row.cost || row.cost->macs == 0) continue;
    ++left.of;
    std::string why = refusal_of(row);
    // The accelerator did not reject the node: an earlier target accepted it, or the user placed it elsewhere.
    if (why.empty())
      why = accel == targets.begin() ? "it was placed elsewhere" : targets.front() + " is listed before it";
    const Remedy* remedy = remedy_of(why);
    ++refusals[remedy != nullptr ? std::string(remedy->words) : why][why];
  }
  for (const auto& [cause, words] : refusals) {
    std::size_t nodes = 0;
    for (const auto& [why, count] : words) nodes += count;
    if (nodes <= left.nodes) continue;
    left.nodes = nodes;
    left.why = std::ranges::max_element(words, {}, [](const auto& entry) { return entry.second; })->first;
  }
  if (left.nodes == 0) return std::nullopt;
  const Remedy* remedy = remedy_of(left.why);
  left.remedy = remedy != nullptr
                    ? std::string(remedy->text)
                    : "another --hw may support them; `dovetail compile --report R.json` has the reason for every node";
  return left;
}

std::vector<OnHost> on_host(std::span<const NodePlacement> placement) {
  std::vector<OnHost> groups;
  for (const NodePlacement& row : placement) {
    if (row.target != kOnHost) continue;
    const auto known =
        std::ranges::find_if(groups, [&](const OnHost& group) { return group.op == row.op && group.why == row.why; });
    if (known == groups.end()) groups.push_back({row.op, row.why, {row.node}});
    else known->nodes.push_back(row.node);
  }
  std::ranges::stable_sort(groups, std::greater{}, [](const OnHost& group) { return group.nodes.size(); });
  return groups;
}

}  // namespace dovetail::driver
