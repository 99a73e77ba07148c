#include "isa/verify/races_together.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isa/verify/accesses.h"
#include "isa/verify/interval_map.h"

namespace dovetail::isa {
namespace {

struct Writer {
  std::size_t launch = 0, instruction = 0;
  bool set = false;
};

class Group {
 public:
  Group(const AcceleratorConfigs& configs, std::span<const Instruction> program, std::span<const Launch> launches,
        FindingSet& findings)
      : configs_(configs), program_(program), launches_(launches), findings_(findings) {}

  void check() {
    std::set<std::size_t> accelerators;
    for (const Launch& launch : launches_)
      if (!accelerators.insert(launch.accelerator).second && findings_.admit(launch.begin))
        findings_.add({FindingKind::illegal,
                       launch.begin,
                       std::nullopt,
                       false,
                       Diagnostic{fmt::format("two launches begin together on accelerator {}", launch.accelerator),
                                  fmt::format("launch {}:{}", launch.begin, launch.count),
                                  "an accelerator runs one launch at a time",
                                  "give it another accelerator, or let it begin later"},
                       std::nullopt,
                       {}});
    for (std::size_t l = 0; l < launches_.size(); ++l) visit(l, true);
    for (std::size_t l = 0; l < launches_.size(); ++l) visit(l, false);
  }

 private:
  // Reports what the launch's accesses have in common with the stores of other launches so far; its stores are added.
  void visit(std::size_t l, bool stores) {
    const Launch& launch = launches_[l];
    for (std::size_t i = launch.begin; i < launch.begin + launch.count; ++i) {
      const DramAccess access = dram_access(configs_[launch.accelerator], program_[i]);
      if (access.empty() || access.write != stores) continue;
      std::map<std::size_t, std::vector<Extent>> conflicts;  // by the other instruction
      const auto meet = [&](const Writer& writer, Extent part) {
        if (writer.set && writer.launch != l) conflicts[writer.instruction].push_back(part);
      };
      bool meets = false;
      written_.query(access.hull(), [&](const Writer& writer, Extent) { meets |= writer.launch != l; });
      for (std::uint64_t y = 0; y < access.rows && (meets || stores); ++y) {
        if (meets) written_.query(access.row(y), meet);
        if (stores) written_.assign(access.row(y), {l, i, true});
      }
      for (auto& [other, extents] : conflicts) report(other, i, stores, std::move(extents));
    }
  }

  void report(std::size_t writer, std::size_t other, bool writes, std::vector<Extent> extents) {
    if (!findings_.admit(std::max(writer, other))) return;
    const std::string place = describe(std::nullopt, extents);
    Diagnostic diagnostic{
        "race on " + place, fmt::format("{} and {}", cite(program_, writer), cite(program_, other)),
        fmt::format("#{} writes and #{} {} the same bytes, in launches that begin together on two accelerators", writer,
                    other, writes ? "writes" : "reads"),
        "let one launch begin when the other has ended"};
    findings_.add({FindingKind::race, std::max(writer, other), std::min(writer, other), false, std::move(diagnostic),
                   std::nullopt, std::move(extents)});
  }

  const AcceleratorConfigs& configs_;
  std::span<const Instruction> program_;
  std::span<const Launch> launches_;
  FindingSet& findings_;
  IntervalMap<Writer> written_;
};

}  // namespace

void find_races_together(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                         std::span<const Launch> launches, FindingSet& findings) {
  for (std::size_t begin = 0, end = 1; begin < launches.size(); begin = end++) {
    while (end < launches.size() && launches[end].together) ++end;
    if (end - begin > 1) Group(configs, program, launches.subspan(begin, end - begin), findings).check();
  }
}

std::vector<Finding> races_together(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                                    std::span<const Launch> launches) {
  constexpr std::size_t kMost = 4;
  FindingSet findings(kMost);
  find_races_together(configs, program, launches, findings);
  return std::move(findings).report().findings;
}

}  // namespace dovetail::isa
