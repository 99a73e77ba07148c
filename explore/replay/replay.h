// Searches compared on tables: what each has found after so many trials.
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

// The least cost after so many trials, in the table's unit: of the default alone, after one, and so on; as many as
// there were, the last repeated up to `trials` where the search ended before.
using Curve = std::vector<double>;

Curve replay(TableSpace& space, const tune::SearchRow& search, tune::Ranking& ranking, std::uint64_t seed,
             std::size_t trials, std::size_t batch);

// All seeds of each search on one table, in the order of the searches.
struct TaskCurves {
  std::string name;
  double default_cost = 0, best_cost = 0;  // the table's best
  std::size_t candidates = 0;
  bool whole = false;
  std::vector<std::vector<Curve>> searches;  // [search][seed]
};

double median(std::vector<double> values);  // precondition: there are some; of an even number the upper one
// Of the seeds, at each number of trials.
Curve median_curve(std::span<const Curve> seeds);
// Of tasks: the geometric mean of the median curves as multiples of the tables' bests.
Curve mean_curve(std::span<const TaskCurves> tasks, std::size_t search);
// The fewest trials after which a curve is at `cost` or below; nullopt where it never is.
std::optional<std::size_t> trials_to(const Curve& curve, double cost);

}  // namespace dovetail::explore
