#include "compiler/tune/task_tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/tune/search/explorer.h"

namespace dovetail::tune {

namespace {

constexpr std::size_t kConfirmed = 3;  // number of candidates measured again

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

TaskTuner::TaskTuner(const TuningTask& given, const TuneOptions& options, const SearchRow& search, Ranking& ranking)
    : given_(given),
      options_(options),
      row_(search),
      space_(given.task, given.sketch),
      search_(search.make(space_, ranking, options.seed)) {
  result_.key = schedule::key(given.task);
  result_.name = given.name;
  result_.target = given.task.target;
  result_.kind = given.task.kind;
  result_.uses = given.uses;
}

Result<void> TaskTuner::begin() {
  DOVETAIL_ASSIGN(measurer_, options_.measurer(given_.task));
  result_.machine = measurer_->machine();
  result_.conditions = measurer_->conditions();
  result_.unit = measurer_->unit();
  DOVETAIL_ASSIGN(const Candidate first, space_.default_candidate());
  const schedule::Scheduled* const scheduled = first.scheduled.get();
  const Measurement measured = measurer_->measure(std::span(&scheduled, 1)).front();
  if (stopped()) return {};
  if (measured.outcome != Outcome::measured)
    return Diagnostic{"cannot tune " + given_.name, given_.name,
                      fmt::format("the default schedule failed: {}, {}", to_string(measured.outcome), measured.why),
                      "`dovetail run --check` compares the model with the reference; or tune without this task"};
  result_.default_cost = result_.best_cost = measured.cost;
  result_.default_decisions = result_.best_decisions = first.decisions();
  result_.best_trace = first.scheduled->trace;
  search_->learn(first, 1);
  best_.push_back({first, measured.cost});
  DOVETAIL_TRY(learn_records());
  if (options_.records) DOVETAIL_TRY(options_.records->add({record_of(first, measured, "default")}));
  return {};
}

Result<void> TaskTuner::learn_records() {
  if (!options_.records) return {};
  DOVETAIL_ASSIGN(const std::vector<Record> records, options_.records->all(result_.key));
  SplitMix64 random(options_.seed);
  for (const Record& record : records) {
    if (record.machine != result_.machine || record.sketch_version != given_.sketch.version || stopped()) continue;
    if (!known_.insert(text_of(record.decisions)).second || record.decisions == result_.default_decisions) continue;
    const auto candidate = space_.complete(record.decisions, Rest::analytic, random);
    if (!candidate || candidate->decisions() != record.decisions) continue;  // from another build, or invalid
    ++result_.known;
    // A machine's speed may differ from that of the recorded measurement; the cost relative to the default is the same.
    const double then = measurer_->deterministic() ? result_.default_cost : record.default_cost;
    const double cost = record.outcome == Outcome::measured ? record.cost / then * result_.default_cost : kNever;
    search_->learn(*candidate, cost / result_.default_cost);
    keep_best(*candidate, cost);
  }
  return {};
}

Result<std::int64_t> TaskTuner::step(std::int64_t most) {
  const std::vector<Candidate> candidates = search_->propose(static_cast<std::size_t>(most));
  std::vector<const schedule::Scheduled*> scheduled;
  for (const Candidate& candidate : candidates) scheduled.push_back(candidate.scheduled.get());
  const std::vector<Measurement> measurements = measurer_->measure(scheduled);
  if (stopped()) return 0;  // measurements may have been aborted
  DOVETAIL_TRY(take(candidates, measurements));
  return static_cast<std::int64_t>(candidates.size());
}

Result<void> TaskTuner::take(std::span<const Candidate> candidates, std::span<const Measurement> measurements) {
  std::vector<Record> records;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool measured = measurements[i].outcome == Outcome::measured;
    const double cost = measured ? measurements[i].cost : kNever;
    search_->learn(candidates[i], cost / result_.default_cost);
    result_.trials.push_back({measurements[i].outcome, measured ? cost : 0, candidates[i].text(), measurements[i].why});
    keep_best(candidates[i], cost);
    records.push_back(record_of(candidates[i], measurements[i], row_.name));
  }
  return options_.records ? options_.records->add(records) : Result<void>();
}

void TaskTuner::keep_best(const Candidate& candidate, double cost) {
  if (!std::isfinite(cost)) return;
  best_.insert(std::ranges::upper_bound(best_, cost, {}, &Measured::cost), {candidate, cost});
  if (best_.size() > kConfirmed) best_.pop_back();
  result_.best_cost = best_.front().cost;
  result_.best_decisions = best_.front().candidate.decisions();
  result_.best_trace = best_.front().candidate.scheduled->trace;
}

Result<void> TaskTuner::confirm() {
  if (!measurer_) return {};  // stopped before the first measurement
  if (measurer_->deterministic() || result_.best_decisions == result_.default_decisions || stopped()) return {};
  const std::vector<Measured> luckiest = std::exchange(best_, {});
  DOVETAIL_ASSIGN(const Candidate first, space_.default_candidate());
  keep_best(first, result_.default_cost);
  std::vector<const schedule::Scheduled*> scheduled;
  for (const Measured& measured : luckiest) scheduled.push_back(measured.candidate.scheduled.get());
  const std::vector<Measurement> again = measurer_->measure(scheduled);
  if (stopped()) return {};
  std::vector<Record> records;
  for (std::size_t i = 0; i < luckiest.size(); ++i) {
    if (luckiest[i].candidate.decisions() == result_.default_decisions) continue;
    if (again[i].outcome == Outcome::measured) {
      keep_best(luckiest[i].candidate, again[i].cost);
    } else {  // replaces its first result
      const std::string text = luckiest[i].candidate.text();
      std::erase_if(result_.trials, [&](const Trial& trial) { return trial.decisions == text; });
      result_.trials.push_back({again[i].outcome, 0, text, again[i].why});
    }
    records.push_back(record_of(luckiest[i].candidate, again[i], row_.name));
  }
  return options_.records ? options_.records->add(records) : Result<void>();
}

Record TaskTuner::record_of(const Candidate& candidate, const Measurement& measurement,
                            std::string_view found_by) const {
  Record record;
  record.task = result_.key;
  record.machine = result_.machine;
  record.conditions = result_.conditions;
  record.target = result_.target;
  record.kind = result_.kind;
  record.name = result_.name;
  record.sketch_version = given_.sketch.version;
  record.decisions = candidate.decisions();
  if (candidate.scheduled) record.trace = schedule::to_string(candidate.scheduled->trace);
  record.unit = result_.unit;
  record.outcome = measurement.outcome;
  if (measurement.outcome == Outcome::measured) record.cost = measurement.cost;
  record.default_cost = result_.default_cost;
  record.why = measurement.why;
  record.features = candidate.features;
  record.search = found_by;
  record.time = time_text(std::chrono::system_clock::now());
  return record;
}

}  // namespace dovetail::tune
