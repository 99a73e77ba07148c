#include "compiler/target/accel/count_cycles.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/region.h"
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

// Counts regions in their own memory.
class RegionCounter {
 public:
  RegionCounter(const graph::Graph& graph, const RegionSpec& spec, const GraphRegion& region)
      : graph_(graph), spec_(spec), space_{.base = kMemoryBase, .granule = kPage} {
    for (const auto* border : {&region.inputs, &region.outputs})
      for (const graph::ValueId value : *border) {
        const auto layout = spec.layouts.layouts.find(value);
        if (layout == spec.layouts.layouts.end()) continue;  // the position of written rows: a register
        if (const auto [at, added] = addresses_.try_emplace(value); added)
          at->second = space_.allocate(static_cast<std::uint64_t>(layout->second.bytes()));
      }
  }

  Result<std::uint64_t> cycles(const RegionSchedules& schedules, const CountCycles& count) const {
    DeviceSpace space = space_;
    RegionMemory memory{addresses_, space};
    DOVETAIL_ASSIGN(const RegionCode built, build_region(graph_, spec_, schedules, memory, nullptr, nullptr));
    return count(built.code, memory_of(space));
  }

 private:
  const graph::Graph& graph_;
  const RegionSpec& spec_;
  DeviceSpace space_;                                  // before the region
  std::map<graph::ValueId, std::uint64_t> addresses_;  // of the values that cross the border
};

class Choice {
 public:
  Choice(const graph::Graph& graph, const RegionSpec& spec, const GraphRegion& region,
         const schedule::FindRecorded& recorded, const Counting& counting, const ReportProgress& progress)
      : spec_(spec), recorded_(recorded), counting_(counting), progress_(progress), counter_(graph, spec, region) {}

  Result<RegionSchedules> best() {
    DOVETAIL_ASSIGN(RegionSchedules defaults, schedule_region(spec_, recorded_, nullptr, progress_));
    DOVETAIL_ASSIGN(best_, count(std::move(defaults)));
    name_tasks();
    DOVETAIL_ASSIGN(const std::vector<Proposal> proposals, propose());
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      DOVETAIL_TRY(try_out(proposals[i]));
      if (progress_)
        progress_("counted schedules of the accelerator", static_cast<std::int64_t>(i + 1),
                  static_cast<std::int64_t>(proposals.size()));
    }
    return std::move(best_.region);
  }

  // Takes all records if the region is not slower with them; else those records that make it faster.
  Result<RegionSchedules> best_of_records() {
    DOVETAIL_ASSIGN(RegionSchedules with_all, schedule_region(spec_, recorded_, nullptr, progress_));
    std::vector<std::string> found;
    for (const auto& [key, task] : with_all.schedules)
      if (task.origin.recorded) found.push_back(key);
    if (found.empty()) return with_all;
    DOVETAIL_ASSIGN(Counted with_all_counted, count(std::move(with_all)));
    DOVETAIL_ASSIGN(RegionSchedules without, schedule_region(spec_, nullptr, nullptr, nullptr));
    DOVETAIL_ASSIGN(best_, count(std::move(without)));
    if (with_all_counted.cycles <= best_.cycles) return std::move(with_all_counted.region);
    name_tasks();
    std::size_t built = 0;
    for (const std::string& key : found) {
      const TaskSchedule& recorded = with_all_counted.region.schedules.at(key);
      TaskSchedule& now = best_.region.schedules.at(key);
      if (now.scheduled.trace == recorded.scheduled.trace) {
        now = recorded;
        continue;
      }
      if (built == kMostRegions) continue;
      ++built;
      DOVETAIL_ASSIGN(Counted tried, count_with(key, recorded));
      if (tried.cycles < best_.cycles) best_ = std::move(tried);
      else now.origin.text = "default: the record does not make the region faster";
    }
    return std::move(best_.region);
  }

 private:
  struct Proposal {
    std::string content;  // key of a task
    schedule::Scheduled scheduled;
    double gain;  // estimated cycles of the region, from the task alone
  };

  struct Counted {
    RegionSchedules region;
    std::uint64_t cycles = 0;
  };

  void name_tasks() {
    for (auto& [key, task] : best_.region.schedules)
      if (task.origin.key.empty()) task.origin.key = schedule::key(task.task);
  }

  Result<Counted> count(RegionSchedules region) const {
    DOVETAIL_ASSIGN(const std::uint64_t cycles, counter_.cycles(region, counting_.count));
    return Counted{std::move(region), cycles};
  }
  // The best schedules so far, with another one of one task.
  Result<Counted> count_with(const std::string& key, const TaskSchedule& schedule) const {
    TaskSchedules schedules = best_.region.schedules;
    schedules.at(key) = schedule;
    DOVETAIL_ASSIGN(RegionSchedules region, schedule_region(spec_, recorded_, &schedules, nullptr));
    return count(std::move(region));
  }

  Result<std::uint64_t> cycles_alone(const TaskSchedule& task, const schedule::Scheduled& scheduled) const {
    DOVETAIL_ASSIGN(const TaskCode made,
                    repeated_task_code(task.task, scheduled, spec_.cores.of_kind(task.core_kind), kTimesAlone));
    bundle::MemorySpace memory;
    memory.base = made.memory_base;
    memory.bytes = made.memory_bytes;
    return counting_.count(made.code, memory);
  }

  // The fastest schedule of each task, if it is faster than the default; largest gains first.
  Result<std::vector<Proposal>> propose() {
    std::vector<Proposal> proposals;
    for (auto& [content, task] : best_.region.schedules) {
      DOVETAIL_ASSIGN(const std::uint64_t alone, cycles_alone(task, task.scheduled));
      const auto uses =
          static_cast<double>(std::ranges::count(best_.region.programs, content, &RegionProgram::schedule));
      const double share = uses * static_cast<double>(alone) / kTimesAlone / static_cast<double>(best_.cycles);
      if (share < kLeastShare) continue;
      schedule::Decisions given;
      for (const schedule::Decision& decision : task.scheduled.decisions)
        if (task.origin.taken.contains(decision.name)) given[decision.name] = decision.value;
      DOVETAIL_ASSIGN(std::vector<schedule::Scheduled> candidates,
                      schedule::run_best(sketch_of(task.kind, spec_.cores.of_kind(task.core_kind), spec_.memo),
                                         task.task, static_cast<std::size_t>(counting_.candidates), given));
      std::optional<std::pair<std::uint64_t, schedule::Scheduled>> fastest;
      for (schedule::Scheduled& candidate : candidates) {
        if (candidate.trace == task.scheduled.trace) continue;
        const auto cycles = cycles_alone(task, candidate);
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

  // Keeps the proposal if it makes the region faster.
  Result<void> try_out(const Proposal& proposal) {
    TaskSchedule schedule = best_.region.schedules.at(proposal.content);
    schedule.scheduled = proposal.scheduled;
    schedule.origin.counted = true;
    DOVETAIL_ASSIGN(Counted tried, count_with(proposal.content, schedule));
    if (tried.cycles >= best_.cycles) return {};
    tried.region.schedules.at(proposal.content).origin.text =
        fmt::format("counted: the region takes {} cycles, {} before", tried.cycles, best_.cycles);
    best_ = std::move(tried);
    return {};
  }

  const RegionSpec& spec_;
  const schedule::FindRecorded& recorded_;
  const Counting& counting_;
  const ReportProgress& progress_;
  RegionCounter counter_;
  Counted best_;
};

}  // namespace

Result<RegionSchedules> counted_schedules(const graph::Graph& graph, const RegionSpec& spec, const GraphRegion& region,
                                          const schedule::FindRecorded& recorded, const Counting& counting,
                                          const ReportProgress& progress) {
  Choice choice(graph, spec, region, recorded, counting, progress);
  return counting.candidates > 1 ? choice.best() : choice.best_of_records();
}

Result<std::uint64_t> counted_cycles(const graph::Graph& graph, const RegionSpec& spec, const GraphRegion& region,
                                     const RegionSchedules& schedules, const CountCycles& count) {
  return RegionCounter(graph, spec, region).cycles(schedules, count);
}

}  // namespace dovetail::accel
