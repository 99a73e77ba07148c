#include "cli/report/work_shares_text.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "cli/report/text.h"

namespace dovetail::cli {

namespace {

double share_of_host(const std::map<std::string, double>& shares) {
  const auto own = shares.find(std::string(kOnHost));
  return own == shares.end() ? 0 : own->second;
}

}  // namespace

std::string host_text(std::span<const NodePlacement> placement, const PlacementSummary& summary,
                      const std::map<std::string, double>& time_shares) {
  constexpr std::size_t kMostNames = 4;
  std::size_t nodes = 0;
  std::string reasons;
  for (const driver::OnHost& group : driver::on_host(placement)) {
    nodes += group.nodes.size();
    const std::span names(group.nodes.begin(), std::min(group.nodes.size(), kMostNames));
    reasons += fmt::format("              {} {} ({}{}): {}\n", group.nodes.size(), group.op, fmt::join(names, ", "),
                           names.size() < group.nodes.size() ? ", ..." : "", group.why);
  }
  if (nodes == 0) return {};
  std::string text = fmt::format("on the host   {} of {} nodes", nodes, placement.size());
  if (const auto macs = driver::mac_shares(summary); !macs.empty())
    text += fmt::format(", {:.2f} % of the multiplications", 100 * share_of_host(macs));
  if (!time_shares.empty()) text += fmt::format(", {:.2f} % of the time", 100 * share_of_host(time_shares));
  return text + "\n" + reasons;
}

Json host_json(std::span<const NodePlacement> placement, const PlacementSummary& summary) {
  Json reasons = Json::array();
  std::size_t nodes = 0;
  for (const driver::OnHost& group : driver::on_host(placement)) {
    nodes += group.nodes.size();
    reasons.push_back({{"op", group.op}, {"why", group.why}, {"nodes", group.nodes}});
  }
  return {{"nodes", nodes},
          {"of", placement.size()},
          {"macs", share_of_host(driver::mac_shares(summary))},
          {"reasons", reasons}};
}

std::string macs_text(const PlacementSummary& summary) {
  std::uint64_t all = 0;
  for (const auto& [target, count] : summary.macs) all += count;
  if (all == 0) return {};
  std::string text = fmt::format("MACs          {} of the compiled graph", with_separators(all));
  for (const auto& [target, count] : summary.macs)
    if (count != 0)
      text += fmt::format(", {:.2f} % {}", 100.0 * static_cast<double>(count) / static_cast<double>(all), target);
  return text + "\n";
}

std::string left_text(const std::optional<driver::LeftAccelerator>& left) {
  if (!left) return {};
  return fmt::format("not on accel  {} of {} nodes that multiply: {}\nremedy        {}\n", left->nodes, left->of,
                     left->why, left->remedy);
}

Json left_json(const std::optional<driver::LeftAccelerator>& left) { return left ? driver::to_json(*left) : nullptr; }

std::string work_summary(const driver::CompiledModel& model, const std::map<std::string, double>& time_shares) {
  const Compiled& compiled = model.compiled;
  std::string text, shares;
  const auto add = [&](std::string_view of, const std::map<std::string, double>& by_target) {
    if (by_target.empty()) return;
    shares += fmt::format("{}{}", shares.empty() ? "" : "; ", of);
    std::string_view separator = ": ";
    for (const auto& [target, share] : by_target)
      shares += fmt::format("{}{:.2f} % {}", std::exchange(separator, ", "), 100 * share, target);
  };
  add("multiplications", driver::mac_shares(compiled.summary));
  add("time", time_shares);
  if (!shares.empty()) text += entry("shares", shares);
  if (const auto groups = driver::on_host(compiled.placement); !groups.empty()) {
    std::size_t nodes = 0;
    for (const driver::OnHost& group : groups) nodes += group.nodes.size();
    text += entry("on the host", fmt::format("{} of {} nodes, of these {} {}: {}", nodes, compiled.placement.size(),
                                             groups.front().nodes.size(), groups.front().op, groups.front().why));
  }
  if (const auto left = driver::left_accelerator(compiled.placement, compiled.summary, model.targets)) {
    text += entry("not on accel", fmt::format("{} of {} nodes that multiply: {}", left->nodes, left->of, left->why));
    text += entry("remedy", left->remedy);
  }
  return text;
}

}  // namespace dovetail::cli
