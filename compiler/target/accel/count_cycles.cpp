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

// Tasks that take a smaller part of the region are left as they are.
constexpr double kLeastShare = 0.005;
// Regions that are built at most, those of the largest gains first: each takes as long as compiling does.
constexpr std::size_t kMostRegions = 12;
// Beside itself a task overlaps as in a network, at one of its ends.
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
    DeviceSpace space;  // as the region leaves it
    std::uint64_t cycles = 0;
  };

  Result<Built> best() {
    DOVETAIL_ASSIGN(best_, build(nullptr));
    for (auto& [content, task] : best_->region.schedules)
      if (task.origin.key.empty()) task.origin.key = schedule::key(task.task);
    DOVETAIL_ASSIGN(const std::vector<Proposal> proposals, propose());
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      DOVETAIL_TRY(try_out(proposals[i]));
      if (spec_.progress)
        spec_.progress("schedules of the accelerator", static_cast<std::int64_t>(i + 1),
                       static_cast<std::int64_t>(proposals.size()));
    }
    return *std::move(best_);
  }

 private:
  struct Proposal {
    std::string content;  // of a task
    schedule::Scheduled scheduled;
    double gain;  // cycles of the region, as far as the task alone says
  };

  Result<Built> build(const TaskSchedules* schedules) const {
    RegionSpec spec = spec_;
    spec.schedules = schedules;
    if (schedules != nullptr) spec.progress = nullptr;
    Built built{{}, space_};
    DOVETAIL_ASSIGN(built.region, build_region(graph_, spec, config_, recorded_, built.space, nullptr));
    DOVETAIL_ASSIGN(built.cycles, counting_.count(built.region.code, memory_of(built.space)));
    return built;
  }

  Result<std::uint64_t> cycles_alone(const schedule::Task& task, const schedule::Scheduled& scheduled) const {
    DOVETAIL_ASSIGN(const TaskCode made, repeated_task_code(task, scheduled, config_, kTimesAlone));
    bundle::MemorySpace memory;
    memory.base = made.memory_base;
    memory.bytes = made.memory_bytes;
    return counting_.count(made.code, memory);
  }

  // The fastest schedule of each task that is faster than its default, those of the largest gains first.
  Result<std::vector<Proposal>> propose() {
    std::vector<Proposal> proposals;
    for (auto& [content, task] : best_->region.schedules) {
      DOVETAIL_ASSIGN(const std::uint64_t alone, cycles_alone(task.task, task.scheduled));
      const auto uses = static_cast<double>(std::ranges::count(best_->region.uses, content, &RegionCode::Use::content));
      const double share = uses * static_cast<double>(alone) / kTimesAlone / static_cast<double>(best_->cycles);
      if (share < kLeastShare) continue;
      schedule::Decisions given;
      for (const schedule::Decision& decision : task.scheduled.decisions)
        if (task.origin.taken.contains(decision.name)) given[decision.name] = decision.value;
      DOVETAIL_ASSIGN(std::vector<schedule::Scheduled> candidates,
                      schedule::run_best(sketch_of(task.kind, config_, spec_.models), task.task,
                                         static_cast<std::size_t>(counting_.candidates), given));
      std::optional<std::pair<std::uint64_t, schedule::Scheduled>> fastest;
      for (schedule::Scheduled& candidate : candidates) {
        if (candidate.trace == task.scheduled.trace) continue;
        const auto cycles = cycles_alone(task.task, candidate);
        if (!cycles.ok()) continue;  // what the analytic cost takes to fit need not
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

  // Takes what makes the region faster.
  Result<void> try_out(const Proposal& proposal) {
    TaskSchedules schedules = best_->region.schedules;
    TaskSchedule& task = schedules.at(proposal.content);
    task.scheduled = proposal.scheduled;
    DOVETAIL_ASSIGN(Built built, build(&schedules));
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
  const DeviceSpace& space_;  // before the region
  std::optional<Built> best_;
};

}  // namespace

Result<RegionCode> build_counted_region(const graph::Graph& graph, const RegionSpec& spec,
                                        const isa::HardwareConfig& config, const schedule::FindRecorded& recorded,
                                        const Counting& counting, DeviceSpace& space, const Dump& dump) {
  DOVETAIL_ASSIGN(Choice::Built best, Choice(graph, spec, config, recorded, counting, space).best());
  if (!dump) {
    space = std::move(best.space);
    return std::move(best.region);
  }
  RegionSpec chosen = spec;  // once more, for what is printed
  chosen.schedules = &best.region.schedules;
  return build_region(graph, chosen, config, recorded, space, dump);
}

}  // namespace dovetail::accel
