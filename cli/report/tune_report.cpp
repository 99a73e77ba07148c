#include "cli/report/tune_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text_table.h"

namespace dovetail::cli {

namespace {

std::map<std::string, std::int64_t> outcomes_of(const tune::TaskResult& task) {
  std::map<std::string, std::int64_t> counts;
  for (const tune::Trial& trial : task.trials) ++counts[std::string(to_string(trial.outcome))];
  return counts;
}

std::int64_t failed(const tune::TaskResult& task) {
  return std::ranges::count_if(task.trials,
                               [](const tune::Trial& trial) { return trial.outcome != tune::Outcome::measured; });
}

std::string cost_text(double cost, const std::string& unit) {
  return unit == "cycles" ? with_separators(static_cast<std::uint64_t>(cost)) : fmt::format("{:.4g}", cost);
}

// The first failure of each kind, with its reason.
std::string failures_text(const std::vector<tune::TaskResult>& tasks) {
  std::map<std::string, std::pair<std::int64_t, std::string>> kinds;
  for (const tune::TaskResult& task : tasks)
    for (const tune::Trial& trial : task.trials) {
      if (trial.outcome == tune::Outcome::measured) continue;
      auto& [count, first] = kinds[std::string(to_string(trial.outcome))];
      if (count++ == 0) first = fmt::format("{} with {}: {}", task.name, trial.decisions, trial.why);
    }
  std::string text;
  for (const auto& [outcome, row] : kinds)
    text += fmt::format("{:<13} {} {}; the first, {}\n", outcome, row.first,
                        row.first == 1 ? "candidate" : "candidates", row.second);
  return text;
}

}  // namespace

std::map<std::string, tune::Gain> TuneReport::gains() const {
  std::map<std::string, std::vector<tune::TaskResult>> by_target;
  for (const tune::TaskResult& task : tasks) by_target[task.target].push_back(task);
  std::map<std::string, tune::Gain> all;
  for (const auto& [target, of_target] : by_target) all[target] = tune::gain_of(of_target);
  return all;
}

std::string TuneReport::text() const {
  TextTable table({"task", "kind", "kernel", ">uses", ">default", ">best", "unit", ">faster", ">trials", ">failed",
                   ">known", "ended by"});
  std::int64_t trials = 0;
  for (const tune::TaskResult& task : tasks) {
    trials += static_cast<std::int64_t>(task.trials.size());
    table.add({task.key, task.kind, task.name, std::to_string(task.uses), cost_text(task.default_cost, task.unit),
               cost_text(task.best_cost, task.unit), task.unit, fmt::format("{:.3f}x", task.gain()),
               std::to_string(task.trials.size()), std::to_string(failed(task)), std::to_string(task.known),
               task.ended});
  }
  std::string text = fmt::format("tuned         {} tasks of {}: {} trials, search {}, ranking {}\n\n{}\n", tasks.size(),
                                 model, trials, search, ranking, table.to_string());
  text += failures_text(tasks);
  for (const auto& [target, gain] : gains())
    text +=
        fmt::format("gain          {}: {:.3f}x in the geometric mean of the tasks, {:.3f}x for all kernels together\n",
                    target, gain.geometric_mean, gain.network);
  text += fmt::format("records       {}\n", records);
  return text;
}

Json TuneReport::json() const {
  Json rows = Json::array();
  for (const tune::TaskResult& task : tasks) {
    Json trials = Json::array();
    for (const tune::Trial& trial : task.trials) {
      Json row{{"outcome", to_string(trial.outcome)}, {"decisions", trial.decisions}};
      if (trial.outcome == tune::Outcome::measured) row["cost"] = trial.cost;
      else row["why"] = trial.why;
      trials.push_back(std::move(row));
    }
    rows.push_back({{"task", task.key},
                    {"name", task.name},
                    {"target", task.target},
                    {"kind", task.kind},
                    {"machine", task.machine},
                    {"conditions", task.conditions},
                    {"unit", task.unit},
                    {"uses", task.uses},
                    {"default_cost", task.default_cost},
                    {"best_cost", task.best_cost},
                    {"default_decisions", task.default_decisions},
                    {"best_decisions", task.best_decisions},
                    {"best_trace", schedule::to_string(task.best_trace)},
                    {"known", task.known},
                    {"ended", task.ended},
                    {"outcomes", outcomes_of(task)},
                    {"trials", trials}});
  }
  Json all = Json::object();
  for (const auto& [target, gain] : gains())
    all[target] = {{"geometric_mean", gain.geometric_mean}, {"network", gain.network}};
  return {{"kind", "tune"},     {"model", model}, {"records", records}, {"search", search},
          {"ranking", ranking}, {"gains", all},   {"tasks", rows}};
}

}  // namespace dovetail::cli
