#include "explore/replay/replay.h"

#include <algorithm>
#include <cmath>

namespace dovetail::explore {

Curve replay(TableSpace& space, const tune::SearchRow& row, tune::Ranking& ranking, std::uint64_t seed,
             std::size_t trials, std::size_t batch) {
  const auto search = row.make(space, ranking, seed);
  const tune::Candidate first = *space.default_candidate();
  const double unit = space.cost(first);
  search->learn(first, 1);
  Curve curve{unit};
  while (curve.size() <= trials) {
    const auto candidates = search->propose(std::min(batch, trials + 1 - curve.size()));
    if (candidates.empty()) break;
    for (const tune::Candidate& candidate : candidates) {
      const double cost = space.cost(candidate);
      search->learn(candidate, cost / unit);
      curve.push_back(std::min(curve.back(), cost));
    }
  }
  curve.resize(trials + 1, curve.back());
  return curve;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Curve median_curve(std::span<const Curve> seeds) {
  Curve middle;
  for (std::size_t trial = 0; trial < seeds.front().size(); ++trial) {
    std::vector<double> values;
    for (const Curve& seed : seeds) values.push_back(seed[trial]);
    middle.push_back(median(std::move(values)));
  }
  return middle;
}

Curve mean_curve(std::span<const TaskCurves> tasks, std::size_t search) {
  Curve mean;
  for (const TaskCurves& task : tasks) {
    const Curve middle = median_curve(task.searches[search]);
    mean.resize(middle.size());
    for (std::size_t trial = 0; trial < middle.size(); ++trial) mean[trial] += std::log(middle[trial] / task.best_cost);
  }
  for (double& value : mean) value = std::exp(value / static_cast<double>(tasks.size()));
  return mean;
}

std::optional<std::size_t> trials_to(const Curve& curve, double cost) {
  const auto there = std::ranges::find_if(curve, [&](double value) { return value <= cost; });
  if (there == curve.end()) return std::nullopt;
  return static_cast<std::size_t>(there - curve.begin());
}

}  // namespace dovetail::explore
