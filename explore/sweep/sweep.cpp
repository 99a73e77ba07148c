#include "explore/sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/thread_pool.h"

namespace dovetail::explore {

namespace {

constexpr auto kPatience = std::chrono::milliseconds(200);  // between checks of other explorers

struct Proposal {
  Genes genes;
  std::optional<isa::Machine> machine;  // nullopt: the configuration is invalid
  std::string key, why;
  std::optional<PointRecord> record;
};

class Sweep {
 public:
  Sweep(const Space& space, const EvaluatorFor& evaluator, PointsFile& file, const SweepOptions& options)
      : space_(space), evaluator_(evaluator), file_(file), options_(options) {}

  Result<SweepProgress> run() {
    DOVETAIL_ASSIGN(const StrategyRow* row, find_strategy(options_.strategy));
    const std::unique_ptr<Strategy> strategy = row->make(space_, options_.seed);
    progress_.planned = options_.points == 0 ? space_.size() : std::min(options_.points, space_.size());
    std::optional<Farm> own;
    threads_ = options_.jobs > 0 ? options_.jobs : available_processors();
    if (options_.farm == nullptr) own.emplace(nullptr, threads_, "");
    farm_ = own ? &*own : options_.farm;
    std::uint64_t proposed = 0;
    while (proposed < progress_.planned) {
      const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(options_.batch, progress_.planned - proposed));
      const std::vector<Genes> genes = strategy->propose(most);
      if (genes.empty()) break;
      proposed += genes.size();
      std::vector<Proposal> proposals;
      for (const Genes& each : genes) proposals.push_back(prepare(each));
      DOVETAIL_TRY(finish_all(proposals));
      std::vector<Trial> trials;
      for (const Proposal& proposal : proposals) {
        std::optional<Costs> cost;
        if (proposal.record->state == PointState::measured)
          cost = costs(metrics_from_json(proposal.record->values), space_.objectives());
        trials.push_back({proposal.genes, std::move(cost)});
      }
      strategy->observe(trials);
    }
    return progress_;
  }

 private:
  Proposal prepare(const Genes& genes) const {
    Proposal proposal{genes, {}, {}, {}, {}};
    Result<isa::Machine> machine = space_.machine(genes);
    if (machine.ok()) {
      proposal.key = space_.key(*machine, genes);
      proposal.machine = *std::move(machine);
    } else {
      Hash hash;
      hash.add(space_.chosen(genes).dump());
      proposal.key = hash.text();
      proposal.why = fmt::format("{}: {}", machine.errors().front().where, machine.errors().front().why);
    }
    return proposal;
  }

  // Returns when each point has a record, made here or by another explorer.
  Result<void> finish_all(std::vector<Proposal>& proposals) {
    front_before_ = front_;
    std::ranges::sort(front_before_);  // so that it does not depend on the order in which points finish
    const std::vector<Proposal*> all = by_hardware(proposals);
    while (true) {
      std::vector<Proposal*> ours;
      bool others = false;
      for (Proposal* proposal : all) {
        if (proposal->record) continue;
        // The remaining points are left to other explorers. Points that are compiled together stay together.
        if (ours.size() >= most_claimed() && hardware_of(*ours.back()) != hardware_of(*proposal)) break;
        DOVETAIL_ASSIGN(const PointsFile::Claim claim, file_.claim(proposal->key));
        others = others || claim == PointsFile::Claim::others;
        if (claim == PointsFile::Claim::ours) ours.push_back(proposal);
        if (claim == PointsFile::Claim::done) DOVETAIL_TRY(take_known(*proposal));
      }
      DOVETAIL_TRY(measure(ours));
      if (!others && std::ranges::all_of(all, [](const Proposal* each) { return each->record.has_value(); })) return {};
      if (stopped()) return options_.work->stopped_at("the sweep");
      if (ours.empty()) std::this_thread::sleep_for(kPatience);
    }
  }

  Result<void> take_known(Proposal& proposal) {
    DOVETAIL_ASSIGN(proposal.record, file_.find(proposal.key));
    if (proposal.machine) proposal.record->machine = space_.name_of(*proposal.machine);
    ++progress_.known;
    count(*proposal.record, true);
    return {};
  }

  // The number of points to claim at once. With a farm of processes all points; else few, so that some are left to
  // other explorers of the same file, but enough that threads seldom wait for each other.
  std::size_t most_claimed() const {
    constexpr std::size_t kPointsOfThread = 8;
    return options_.farm != nullptr ? static_cast<std::size_t>(options_.batch)
                                    : kPointsOfThread * static_cast<std::size_t>(threads_);
  }
  // Empty if the configuration is invalid.
  std::string hardware_of(const Proposal& proposal) const {
    if (!proposal.machine) return "";
    // How programs are divided depends on the system.
    const bool divided = divides_samples(proposal.machine->system);
    return space_.key({proposal.machine->hardware, divided ? proposal.machine->system : isa::SystemConfig{}},
                      proposal.genes);
  }
  std::vector<Proposal*> by_hardware(std::vector<Proposal>& proposals) const {
    std::map<std::string, std::size_t> first;  // by hardware, in the order of the proposals
    std::vector<std::pair<std::size_t, Proposal*>> all;
    for (Proposal& proposal : proposals)
      all.emplace_back(first.try_emplace(hardware_of(proposal), first.size()).first->second, &proposal);
    std::ranges::stable_sort(all, {}, &std::pair<std::size_t, Proposal*>::first);
    std::vector<Proposal*> ordered;
    for (const auto& [hardware, proposal] : all) ordered.push_back(proposal);
    return ordered;
  }

  // Measures points. Those that share their hardware are measured in sequence, with one compilation, in one job of the
  // farm.
  Result<void> measure(const std::vector<Proposal*>& ours) {
    std::vector<std::vector<Proposal*>> groups;
    std::map<std::string, std::size_t> known;
    for (Proposal* proposal : ours) {
      if (!needs_measuring(*proposal)) {
        DOVETAIL_TRY(finish(*proposal));
        continue;
      }
      const auto [at, is_new] = known.try_emplace(hardware_of(*proposal), groups.size());
      if (is_new) groups.emplace_back();
      groups[at->second].push_back(proposal);
    }
    std::mutex mutex;
    const auto take = [&](Proposal& proposal, Measured measured) -> Result<void> {
      const std::lock_guard lock(mutex);
      if (stopped()) return options_.work->stopped_at("the sweep");
      PointRecord& record = *proposal.record;
      record.state = measured.state;
      record.why = std::move(measured.why);
      if (!measured.values.is_null()) record.values = std::move(measured.values);
      record.models = std::move(measured.models);
      return finish(proposal);
    };
    Jobs jobs;
    jobs.count = groups.size();
    jobs.text = [&](std::size_t job) {
      std::vector<Genes> genes;
      std::vector<std::string> keys;
      for (const Proposal* proposal : groups[job]) genes.push_back(proposal->genes), keys.push_back(proposal->key);
      return job_text(genes, keys);
    };
    jobs.here = [&](std::size_t job) -> Result<void> {
      const std::vector<Proposal*>& group = groups[job];
      std::vector<isa::Machine> machines;
      for (const Proposal* proposal : group) machines.push_back(*proposal->machine);
      return measure_points(space_, evaluator_(group.front()->genes), machines, options_.measure, options_.work,
                            [&](std::size_t i, Measured measured) { return take(*group[i], std::move(measured)); });
    };
    jobs.take = [&](std::size_t job, std::string_view text) -> Result<void> {
      DOVETAIL_ASSIGN(std::vector<Measured> all, job_result(text, groups[job].size()));
      for (std::size_t i = 0; i < all.size(); ++i) DOVETAIL_TRY(take(*groups[job][i], std::move(all[i])));
      return {};
    };
    return farm_->run(jobs, options_.work, "the sweep");
  }

  // Fills in the record of a point that need not be compiled. Returns whether the point must be measured.
  bool needs_measuring(Proposal& proposal) const {
    PointRecord& record = proposal.record.emplace();
    record.key = proposal.key;
    record.chosen = space_.chosen(proposal.genes);
    if (!proposal.machine) {
      record.state = PointState::infeasible;
      record.why = proposal.why;
      return false;
    }
    record.machine = space_.name_of(*proposal.machine);
    const Metrics least = evaluator_(proposal.genes).lower_bound(*proposal.machine);
    record.values = to_json(least);
    if (const std::string broken = surely_broken_constraint(least, space_.constraints()); !broken.empty()) {
      record.state = PointState::infeasible;
      record.why = broken + ", by its lower bounds";
      return false;
    }
    if (!options_.prune) return true;
    const Costs bound = least_costs(least, space_.objectives());
    const auto beats =
        std::ranges::find_if(front_before_, [&](const auto& point) { return dominates(point.first, bound); });
    if (beats == front_before_.end()) return true;
    record.state = PointState::pruned;
    record.why = fmt::format("its lower bounds are beaten by {}", beats->second);
    return false;
  }

  // Precondition: the mutex is locked if several threads run.
  Result<void> finish(const Proposal& proposal) {
    DOVETAIL_TRY(file_.finish(*proposal.record));
    count(*proposal.record, false);
    return {};
  }

  // Precondition: the mutex is locked if several threads run.
  void count(const PointRecord& record, bool known) {
    ++progress_.done;
    if (record.state == PointState::infeasible) ++progress_.infeasible;
    else if (record.state == PointState::pruned) ++progress_.pruned;
    else if (record.state == PointState::failed) ++progress_.failed;
    else ++progress_.measured, add_to_front(record);
    progress_.front = front_.size();
    if (options_.on_point) options_.on_point(record, known);
    if (options_.on_progress) options_.on_progress(progress_);
  }

  void add_to_front(const PointRecord& record) {
    Costs cost = costs(metrics_from_json(record.values), space_.objectives());
    for (auto& [other, name] : front_) {
      if (other == cost) name = std::min(name, record.machine);
      if (other == cost || dominates(other, cost)) return;
    }
    std::erase_if(front_, [&](const auto& other) { return dominates(cost, other.first); });
    front_.emplace_back(std::move(cost), record.machine);
  }

  bool stopped() const { return options_.work != nullptr && options_.work->stopped(); }

  const Space& space_;
  const EvaluatorFor& evaluator_;
  PointsFile& file_;
  const SweepOptions& options_;
  Farm* farm_ = nullptr;
  int threads_ = 1;
  SweepProgress progress_;
  // Costs and machines. Pruning uses the front before the batch, so that it does not depend on the timing of threads.
  std::vector<std::pair<Costs, std::string>> front_, front_before_;
};

}  // namespace

Result<SweepProgress> sweep(const Space& space, const Evaluator& evaluator, PointsFile& file,
                            const SweepOptions& options) {
  const EvaluatorFor one = [&](const Genes&) -> const Evaluator& { return evaluator; };
  return Sweep(space, one, file, options).run();
}

Result<SweepProgress> sweep(const Space& space, const EvaluatorFor& evaluator, PointsFile& file,
                            const SweepOptions& options) {
  return Sweep(space, evaluator, file, options).run();
}

std::vector<std::size_t> front_of(std::span<const PointRecord> points, std::span<const Objective> objectives) {
  std::vector<std::size_t> measured;
  std::vector<Costs> all;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].state != PointState::measured) continue;
    measured.push_back(i);
    all.push_back(costs(metrics_from_json(points[i].values), objectives));
  }
  std::vector<std::size_t> front;
  for (const std::size_t i : front_of(std::span<const Costs>(all))) front.push_back(measured[i]);
  return front;
}

}  // namespace dovetail::explore
