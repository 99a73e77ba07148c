#include "compiler/target/accel/count_cycles.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/target/accel/task_code.h"

namespace dovetail::accel {

namespace {

// Tasks with a smaller share of the region's cycles keep their schedules.
constexpr double kLeastShare = 0.005;
// Maximum number of regions that are built, largest gains first: each one takes as long as compiling.
constexpr std::size_t kMostRegions = 12;
// A task is counted twice in sequence, so that one of its ends overlaps as in a network.
constexpr int kTimesAlone = 2;

bundle::MemorySpace memory_of(const DeviceSpace& space) {
  bundle::MemorySpace memory;
  memory.base = space.base;
  memory.bytes = space.next - space.base;
  return memory;
}

class Choice {
 public:
  Choice(const graph::Graph& graph, const RegionSpec& spec, const isa::HardwareConfig& config,
         const schedule::FindRecorded& recorded, const Counting& counting, const DeviceSpace& space)
      : graph_(graph), spec_(spec), config_(config), recorded_(recorded), counting_(counting), space_(space) {}

  struct Built {
    RegionCode region;
    DeviceSpace space;  // the memory after the region
    std::uint64_t cycles = 0;
  };

  Result<Built> best() {
    DOVETAIL_ASSIGN(best_, build(nullptr, recorded_));
    name_tasks();
    DOVETAIL_ASSIGN(const std::vector<Proposal> proposals, propose());
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      DOVETAIL_TRY(try_out(proposals[i]));
      if (spec_.progress)
        spec_.progress("schedules of the accelerator", static_cast<std::int64_t>(i + 1),
                       static_cast<std::int64_t>(proposals.size()));
    }
    return *std::move(best_);
  }

  // Builds the region with all records if that is not slower; else with those records that make it faster.
  Result<Built> best_of_records() {
    DOVETAIL_ASSIGN(Built with_all, build(nullptr, recorded_));
    std::vector<std::string> found;
    for (const auto& [content, task] : with_all.region.schedules)
      if (task.origin.recorded) found.push_back(content);
    if (found.empty()) return with_all;
    DOVETAIL_ASSIGN(best_, build(nullptr, nullptr));
    if (with_all.cycles <= best_->cycles) return with_all;
    name_tasks();
    std::size_t built = 0;
    for (const std::string& content : found) {
      const TaskSchedule& recorded = with_all.region.schedules.at(content);
      TaskSchedules schedules = best_->region.schedules;
      TaskSchedule& task = schedules.at(content);
      const bool same = task.scheduled.trace == recorded.scheduled.trace;
      if (!same && built == kMostRegions) continue;
      task = recorded;
      if (same) {
        best_->region.schedules = std::move(schedules);
        continue;
      }
      ++built;
      DOVETAIL_ASSIGN(Built tried, build(&schedules, recorded_));
      if (tried.cycles < best_->cycles) best_ = std::move(tried);
      else best_->region.schedules.at(content).origin.text = "default: the record does not make the region faster";
    }
    return *std::move(best_);
  }

 private:
  struct Proposal {
    std::string content;  // key of a task
    schedule::Scheduled scheduled;
    double gain;  // estimated cycles of the region, from the task alone
  };

  void name_tasks() {
    for (auto& [content, task] : best_->region.schedules)
      if (task.origin.key.empty()) task.origin.key = schedule::key(task.task);
  }

  Result<Built> build(const TaskSchedules* schedules, const schedule::FindRecorded& recorded) const {
    RegionSpec spec = spec_;
    spec.schedules = schedules;
    if (schedules != nullptr) spec.progress = nullptr;
    DeviceSpace space = space_;
    DOVETAIL_ASSIGN(RegionCode region, build_region(graph_, spec, config_, recorded, space, nullptr));
    DOVETAIL_ASSIGN(const std::uint64_t cycles, counting_.count(region.code, memory_of(space)));
    return Built{std::move(region), std::move(space), cycles};
  }

  Result<std::uint64_t> cycles_alone(const schedule::Task& task, const schedule::Scheduled& scheduled) const {
    DOVETAIL_ASSIGN(const TaskCode made, repeated_task_code(task, scheduled, config_, kTimesAlone));
    bundle::MemorySpace memory;
    memory.base = made.memory_base;
    memory.bytes = made.memory_bytes;
    return counting_.count(made.code, memory);
  }

  // The fastest schedule of each task, if it is faster than the default; largest gains first.
  Result<std::vector<Proposal>> propose() {
    std::vector<Proposal> proposals;
    for (auto& [content, task] : best_->region.schedules) {
      DOVETAIL_ASSIGN(const std::uint64_t alone, cycles_alone(task.task, task.scheduled));
      const auto uses = static_cast<double>(std::ranges::count(best_->region.uses, content, &TaskUse::content));
      const double share = uses * static_cast<double>(alone) / kTimesAlone / static_cast<double>(best_->cycles);
      if (share < kLeastShare) continue;
      schedule::Decisions given;
      for (const schedule::Decision& decision : task.scheduled.decisions)
        if (task.origin.taken.contains(decision.name)) given[decision.name] = decision.value;
      DOVETAIL_ASSIGN(std::vector<schedule::Scheduled> candidates,
                      schedule::run_best(sketch_of(task.kind, config_, spec_.memo), task.task,
                                         static_cast<std::size_t>(counting_.candidates), given));
      std::optional<std::pair<std::uint64_t, schedule::Scheduled>> fastest;
      for (schedule::Scheduled& candidate : candidates) {
        if (candidate.trace == task.scheduled.trace) continue;
        const auto cycles = cycles_alone(task.task, candidate);
        if (!cycles.ok()) continue;  // a tile that fits by the analytic cost may not fit
        if (*cycles < (fastest ? fastest->first : alone)) fastest = {*cycles, std::move(candidate)};
      }
      if (!task.origin.recorded) task.origin.text = fmt::format("default, fastest of {} counted", candidates.size());
      if (fastest)
        proposals.push_back(
            {content, std::move(fastest->second), uses * static_cast<double>(alone - fastest->first) / kTimesAlone});
    }
    std::ranges::stable_sort(proposals, std::greater{}, &Proposal::gain);
    if (proposals.size() > kMostRegions) proposals.resize(kMostRegions);
    return proposals;
  }

  // Builds the region with the proposal, and keeps it if it is faster.
  Result<void> try_out(const Proposal& proposal) {
    TaskSchedules schedules = best_->region.schedules;
    TaskSchedule& task = schedules.at(proposal.content);
    task.scheduled = proposal.scheduled;
    DOVETAIL_ASSIGN(Built built, build(&schedules, recorded_));
    if (built.cycles >= best_->cycles) return {};
    schedule::Origin& origin = built.region.schedules.at(proposal.content).origin;
    origin.counted = true;
    origin.text = fmt::format("counted: the region takes {} cycles, {} before", built.cycles, best_->cycles);
    best_ = std::move(built);
    return {};
  }

  const graph::Graph& graph_;
  const RegionSpec& spec_;
  const isa::HardwareConfig& config_;
  const schedule::FindRecorded& recorded_;
  const Counting& counting_;
  const DeviceSpace& space_;  // the memory before the region
  std::optional<Built> best_;
};

}  // namespace

Result<RegionCode> build_counted_region(const graph::Graph& graph, const RegionSpec& spec,
                                        const isa::HardwareConfig& config, const schedule::FindRecorded& recorded,
                                        const Counting& counting, DeviceSpace& space, const Dump& dump) {
  Choice choice(graph, spec, config, recorded, counting, space);
  DOVETAIL_ASSIGN(Choice::Built best, counting.candidates > 1 ? choice.best() : choice.best_of_records());
  if (!dump) {
    space = std::move(best.space);
    return std::move(best.region);
  }
  RegionSpec chosen = spec;  // built once more to dump it
  chosen.schedules = &best.region.schedules;
  return build_region(graph, chosen, config, recorded, space, dump);
}

}  // namespace dovetail::accel
