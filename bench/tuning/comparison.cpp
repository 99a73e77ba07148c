#include "bench/tuning/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/text_table.h"

namespace dovetail::bench {

using explore::Curve;
using explore::TaskCurves;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kLiveTrials = 64;  // after which guided should be where random is at the end

// The final result of random search, the median over its seeds.
double random_best(const Comparison& comparison, const TaskCurves& task) {
  return explore::median_curve(task.searches[comparison.search("random")]).back();
}

// The median over the seeds; infinity: most never reach it.
double trials_needed(const std::vector<Curve>& seeds, double cost) {
  std::vector<double> needed;
  for (const Curve& seed : seeds) {
    const auto trials = explore::trials_to(seed, cost);
    needed.push_back(trials ? static_cast<double>(*trials) : kNever);
  }
  return explore::median(std::move(needed));
}

std::string trials_text(double trials) { return std::isfinite(trials) ? fmt::format("{:.0f}", trials) : "-"; }

class GeometricMean {
 public:
  void add(double value) { logarithms_ += std::log(value), ++count_; }
  double value() const { return count_ == 0 ? 1 : std::exp(logarithms_ / count_); }

 private:
  double logarithms_ = 0;
  int count_ = 0;
};

std::string table_of(const Comparison& comparison, const TargetComparison& target) {
  std::vector<std::string> headers{
      "task", ">candidates", ">default / table's best", ">default / random's best",
      fmt::format(">guided at {} / random's best", std::min(kLiveTrials, comparison.trials))};
  for (const std::string& search : comparison.searches) headers.push_back(fmt::format(">{}", search));
  TextTable table(headers);
  GeometricMean default_to_table, default_to_random, guided_to_random;
  std::vector<std::vector<double>> all(comparison.searches.size());  // trials needed, for all runs
  for (const TaskCurves& task : target.tasks) {
    const double random = random_best(comparison, task);
    const Curve guided = explore::median_curve(task.searches[comparison.search("guided")]);
    const double guided_early = guided[std::min(kLiveTrials, comparison.trials)];
    default_to_table.add(task.default_cost / task.best_cost);
    default_to_random.add(task.default_cost / random);
    guided_to_random.add(guided_early / random);
    std::vector<std::string> row{task.name, fmt::format("{}{}", task.candidates, task.whole ? " (all)" : ""),
                                 fmt::format("{:.3f}", task.default_cost / task.best_cost),
                                 fmt::format("{:.3f}", task.default_cost / random),
                                 fmt::format("{:.3f}", guided_early / random)};
    for (std::size_t s = 0; s < all.size(); ++s) {
      row.push_back(trials_text(trials_needed(task.searches[s], random)));
      for (const Curve& seed : task.searches[s]) {
        const auto trials = explore::trials_to(seed, random);
        all[s].push_back(trials ? static_cast<double>(*trials) : kNever);
      }
    }
    table.add(std::move(row));
  }
  std::vector<std::string> last{
      "geometric mean; of trials the median", "", fmt::format("{:.3f}", default_to_table.value()),
      fmt::format("{:.3f}", default_to_random.value()), fmt::format("{:.3f}", guided_to_random.value())};
  for (std::vector<double>& needed : all) last.push_back(trials_text(explore::median(std::move(needed))));
  table.add(std::move(last));
  return table.to_string();
}

}  // namespace

std::size_t Comparison::search(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::find(searches, name) - searches.begin());
}

std::string to_string(const Comparison& comparison) {
  std::string text;
  for (const TargetComparison& target : comparison.targets)
    text += fmt::format(
        "{}: {} seeds, batches of {}, ranking {}. Random's best: after {} trials, median over the seeds. Under each "
        "search, the trials until it is reached,\nmedian over the seeds (-: most do not within {})\n\n{}\n",
        target.title, comparison.seeds, comparison.batch, comparison.ranking, comparison.trials, comparison.trials,
        table_of(comparison, target));
  return text;
}

Json to_json(const Comparison& comparison) {
  Json json{{"trials", comparison.trials},
            {"seeds", comparison.seeds},
            {"batch", comparison.batch},
            {"ranking", comparison.ranking}};
  const auto rounded = [](Curve curve) {
    for (double& value : curve) value = std::round(value * 1e5) / 1e5;
    return curve;
  };
  for (const TargetComparison& target : comparison.targets) {
    Json of_target{{"target", target.title}};
    for (std::size_t s = 0; s < comparison.searches.size(); ++s)
      of_target["mean"][comparison.searches[s]] = rounded(explore::mean_curve(target.tasks, s));
    for (const TaskCurves& task : target.tasks) {
      const double random = random_best(comparison, task);
      Json of_task{{"task", task.name},         {"candidates", task.candidates},
                   {"whole_space", task.whole}, {"default", task.default_cost},
                   {"best", task.best_cost},    {"random_best", random}};
      for (std::size_t s = 0; s < comparison.searches.size(); ++s) {
        const double needed = trials_needed(task.searches[s], random);
        of_task["searches"][comparison.searches[s]] = {
            {"trials_to_random_best", std::isfinite(needed) ? Json(needed) : Json()},
            {"median", rounded(explore::median_curve(task.searches[s]))}};
      }
      of_target["tasks"].push_back(std::move(of_task));
    }
    json["targets"].push_back(std::move(of_target));
  }
  return json;
}

}  // namespace dovetail::bench
