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

// Proposed at once: enough for points that share their hardware to meet, few enough for a strategy to learn.
constexpr std::size_t kBatch = 64;
constexpr auto kPatience = std::chrono::milliseconds(200);  // between looks at what other explorers do

struct Proposal {
  Genes genes;
  std::optional<isa::Machine> machine;  // none: there is no such configuration
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
    const int jobs = options_.jobs > 0 ? options_.jobs : available_processors();
    ThreadPool pool(jobs, /*pin=*/false);
    std::uint64_t proposed = 0;
    while (proposed < progress_.planned) {
      const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, progress_.planned - proposed));
      const std::vector<Genes> genes = strategy->propose(most);
      if (genes.empty()) break;
      proposed += genes.size();
      std::vector<Proposal> proposals;
      for (const Genes& each : genes) proposals.push_back(prepare(each));
      DOVETAIL_TRY(finish_all(proposals, pool));
      std::vector<Trial> trials;
      for (const Proposal& proposal : proposals) {
        std::optional<Costs> cost;
        if (proposal.record->state == PointState::measured)
          cost = costs(metrics_from_json(proposal.record->values), space_.objectives());
        trials.push_back({proposal.genes, std::move(cost)});
      }
      strategy->tell(trials);
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

  // Until each has a record: ours, or another explorer's.
  Result<void> finish_all(std::vector<Proposal>& proposals, ThreadPool& pool) {
    front_before_ = front_;
    while (true) {
      std::vector<Proposal*> ours;
      bool others = false;
      for (Proposal& proposal : proposals) {
        if (proposal.record) continue;
        DOVETAIL_ASSIGN(const PointsFile::Claim claim, file_.claim(proposal.key));
        others = others || claim == PointsFile::Claim::others;
        if (claim == PointsFile::Claim::ours) ours.push_back(&proposal);
        if (claim != PointsFile::Claim::done) continue;
        DOVETAIL_ASSIGN(proposal.record, file_.find(proposal.key));
        ++progress_.known;
        count(*proposal.record);
      }
      DOVETAIL_TRY(measure(ours, pool));
      if (!others) return {};
      if (stopped()) return options_.work->stopped_at("the sweep");
      if (ours.empty()) std::this_thread::sleep_for(kPatience);
    }
  }

  // Those that share their hardware one after another, with one compilation.
  Result<void> measure(const std::vector<Proposal*>& ours, ThreadPool& pool) {
    std::vector<std::vector<Proposal*>> groups;
    std::map<std::string, std::size_t> known;
    for (Proposal* proposal : ours) {
      const std::string hardware =
          proposal->machine ? space_.key({proposal->machine->hardware, {}}, proposal->genes) : proposal->key;
      const auto [at, is_new] = known.try_emplace(hardware, groups.size());
      if (is_new) groups.emplace_back();
      groups[at->second].push_back(proposal);
    }
    std::mutex mutex;
    std::size_t next = 0;
    Diagnostics errors;
    const auto worker = [&] {
      while (true) {
        std::size_t mine = 0;
        {
          const std::lock_guard lock(mutex);
          if (next == groups.size() || !errors.empty() || stopped()) return;
          mine = next++;
        }
        const Result<void> done = measure_group(groups[mine], mutex);
        if (done.ok()) continue;
        const std::lock_guard lock(mutex);
        errors.insert(errors.end(), done.errors().begin(), done.errors().end());
      }
    };
    // Groups differ in length: each thread takes the next one.
    pool.parallel_for(pool.threads(), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) worker();
    });
    if (!errors.empty()) return errors;
    if (stopped()) return options_.work->stopped_at("the sweep");
    return {};
  }

  Result<void> measure_group(const std::vector<Proposal*>& group, std::mutex& mutex) {
    std::optional<Result<Programs>> programs;
    for (Proposal* proposal : group) {
      PointRecord record;
      record.key = proposal->key;
      record.chosen = space_.chosen(proposal->genes);
      if (!proposal->machine) {
        record.state = PointState::infeasible;
        record.why = proposal->why;
      } else {
        record.machine = space_.name_of(*proposal->machine);
        DOVETAIL_TRY(fill(record, *proposal->machine, evaluator_(proposal->genes), programs));
      }
      const std::lock_guard lock(mutex);
      if (stopped()) return options_.work->stopped_at("the sweep");
      DOVETAIL_TRY(file_.finish(record));
      count(record);
      proposal->record = std::move(record);
    }
    return {};
  }

  Result<void> fill(PointRecord& record, const isa::Machine& machine, const Evaluator& evaluator,
                    std::optional<Result<Programs>>& programs) const {
    const auto infeasible = [&](std::string why) {
      record.state = PointState::infeasible;
      record.why = std::move(why);
      return Result<void>();
    };
    const Metrics least = evaluator.lower_bound(machine);
    record.values = to_json(least);
    if (std::string broken = broken_constraint(least, space_.constraints()); !broken.empty())
      return infeasible(broken + ", at the least");
    if (options_.prune) {
      const Costs bound = costs(least, space_.objectives());
      const auto beats =
          std::ranges::find_if(front_before_, [&](const auto& point) { return dominates(point.first, bound); });
      if (beats != front_before_.end()) {
        record.state = PointState::pruned;
        record.why = fmt::format("its lower bounds are beaten by {}", beats->second);
        return {};
      }
    }
    if (!programs) {
      programs = evaluator.compile(machine.hardware);
      if (programs->ok() && options_.check) {
        DOVETAIL_ASSIGN(const runtime::MakeSimulator functional, runtime::simulator_factory("functional"));
        DOVETAIL_TRY(evaluator.workload().run(**programs, functional));
      }
    }
    if (!programs->ok()) {
      const Diagnostic& error = programs->errors().front();
      if (error.cause == Cause::resource) return programs->errors();
      return infeasible(fmt::format("{}: {}", error.what, error.why));
    }
    DOVETAIL_ASSIGN(Evaluator::Point point, evaluator.measure(**programs, machine.system, options_.work));
    record.values = to_json(point.metrics);
    record.models = std::move(point.models);
    if (std::string broken = broken_constraint(point.metrics, space_.constraints()); !broken.empty())
      return infeasible(std::move(broken));
    return {};
  }

  // Under the mutex where several threads run.
  void count(const PointRecord& record) {
    ++progress_.done;
    if (record.state == PointState::infeasible) ++progress_.infeasible;
    else if (record.state == PointState::pruned) ++progress_.pruned;
    else ++progress_.measured, add_to_front(record);
    progress_.front = front_.size();
    if (options_.on_progress) options_.on_progress(progress_);
  }

  void add_to_front(const PointRecord& record) {
    Costs cost = costs(metrics_from_json(record.values), space_.objectives());
    for (const auto& [other, name] : front_)
      if (other == cost || dominates(other, cost)) return;
    std::erase_if(front_, [&](const auto& other) { return dominates(cost, other.first); });
    front_.emplace_back(std::move(cost), record.machine);
  }

  bool stopped() const { return options_.work != nullptr && options_.work->stopped(); }

  const Space& space_;
  const EvaluatorFor& evaluator_;
  PointsFile& file_;
  const SweepOptions& options_;
  SweepProgress progress_;
  // Costs and machines. What is pruned depends on the front before the batch, so on no race between threads.
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
