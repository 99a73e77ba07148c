#include "explore/distribute/shared_measurer.h"

#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/resource_error.h"

namespace dovetail::explore {

using tune::Measurement;

namespace {

std::string hash_of(std::span<const schedule::Step> trace) {
  Hash hash;
  hash.add(schedule::to_string(trace));
  return hash.text();
}

class SharedMeasurer : public tune::Measurer {
 public:
  SharedMeasurer(std::unique_ptr<tune::Measurer> own, const schedule::Task& task, Farm& farm, Work* work)
      : own_(std::move(own)), key_(schedule::key(task)), farm_(farm), work_(work) {}

  std::string_view unit() const override { return own_->unit(); }
  std::string machine() const override { return own_->machine(); }
  std::string conditions() const override { return own_->conditions(); }
  bool deterministic() const override { return own_->deterministic(); }

  std::vector<Measurement> measure(std::span<const schedule::Scheduled* const> candidates) override {
    std::vector<Measurement> all(candidates.size());
    Jobs jobs;
    jobs.count = candidates.size();
    jobs.text = [&](std::size_t i) {
      Json decisions = Json::object();
      for (const schedule::Decision& decision : candidates[i]->decisions) decisions[decision.name] = decision.value;
      return Json{{"task", key_}, {"decisions", decisions}, {"trace", hash_of(candidates[i]->trace)}}.dump();
    };
    jobs.here = [&](std::size_t i) -> Result<void> {
      all[i] = own_->measure(candidates.subspan(i, 1)).front();
      return {};
    };
    jobs.take = [&](std::size_t i, std::string_view text) -> Result<void> {
      DOVETAIL_ASSIGN(const Json result, parse_json(text, "a measurement"));
      const auto outcome = tune::outcome_named(result.at("outcome").get<std::string>());
      all[i] = {outcome.value(), std::numeric_limits<double>::infinity(), result.at("why")};
      if (outcome == tune::Outcome::measured) all[i].cost = result.at("cost");
      return {};
    };
    if (const Result<void> done = farm_.run(jobs, work_, "tuning"); !done.ok()) {
      // A search that is stopped does not use these results.
      if (work_ == nullptr || !work_->stopped()) throw ResourceError(done.errors().front());
    }
    return all;
  }

 private:
  std::unique_ptr<tune::Measurer> own_;
  std::string key_;
  Farm& farm_;
  Work* work_;
};

}  // namespace

tune::MakeMeasurer share_measurer(tune::MakeMeasurer own, Farm& farm, Work* work) {
  return [own = std::move(own), &farm, work](const schedule::Task& task) -> Result<std::unique_ptr<tune::Measurer>> {
    DOVETAIL_ASSIGN(auto measurer, own(task));
    return std::unique_ptr<tune::Measurer>(std::make_unique<SharedMeasurer>(std::move(measurer), task, farm, work));
  };
}

CandidateJobs::CandidateJobs(std::span<const tune::TuningTask> tasks, tune::MakeMeasurer own) : own_(std::move(own)) {
  for (const tune::TuningTask& task : tasks) tasks_.emplace(schedule::key(task.task), &task);
}

Result<std::string> CandidateJobs::measure(std::string_view job) {
  DOVETAIL_ASSIGN(const Json json, parse_json(job, "a job of the tuner"));
  const std::string key = json.at("task");
  const auto task = tasks_.find(key);
  if (task == tasks_.end())
    return Diagnostic{"processes work on different tasks", key, "the task is unknown here",
                      "all processes need the same model and kit"};
  auto& measurer = measurers_[key];
  if (!measurer) {
    DOVETAIL_ASSIGN(measurer, own_(task->second->task));
  }
  schedule::Decisions decisions;
  for (const auto& [name, value] : json.at("decisions").items()) decisions[name] = value.get<std::string>();
  DOVETAIL_ASSIGN(const schedule::Scheduled candidate,
                  schedule::run(task->second->sketch, task->second->task, decisions));
  if (hash_of(candidate.trace) != json.at("trace").get<std::string>())
    return Diagnostic{"processes work on different tasks", key, "the same decisions give another schedule here",
                      "all processes need the same kit"};
  const schedule::Scheduled* const one = &candidate;
  const Measurement found = measurer->measure(std::span(&one, 1)).front();
  Json result{{"outcome", tune::to_string(found.outcome)}, {"why", found.why}};
  if (found.outcome == tune::Outcome::measured) result["cost"] = found.cost;
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dovetail::explore
