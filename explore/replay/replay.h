// Compares searches on tables: the best cost of each search after each number of trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/tune/ranking.h"
#include "compiler/tune/search.h"
#include "explore/replay/table_space.h"

namespace dovetail::explore {

// The least cost after 0, 1, 2, ... trials, in the table's unit; after 0 trials the default's. If the search ended
// before `trials`, its last cost is repeated.
using Curve = std::vector<double>;

Curve replay(TableSpace& space, const tune::SearchRow& search, tune::Ranking& ranking, std::uint64_t seed,
             std::size_t trials, std::size_t batch);

// All seeds of each search on one table, in the order of the searches.
struct TaskCurves {
  std::string name;
  double default_cost = 0, best_cost = 0;  // best_cost: the least of the table
  std::size_t candidates = 0;
  bool whole = false;
  std::vector<std::vector<Curve>> searches;  // [search][seed]
};

double median(std::vector<double> values);  // the upper median; precondition: not empty
// The median over the seeds at each number of trials.
Curve median_curve(std::span<const Curve> seeds);
// The geometric mean over tasks of the median curves, as multiples of the tables' best costs.
Curve mean_curve(std::span<const TaskCurves> tasks, std::size_t search);
// The least number of trials after which a curve is at most `cost`; nullopt if it never is.
std::optional<std::size_t> trials_to(const Curve& curve, double cost);

}  // namespace dovetail::explore
