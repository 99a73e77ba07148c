#include "explore/replay/make_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "compiler/tune/neighbour_ranking.h"
#include "compiler/tune/search.h"
#include "compiler/tune/sketch_space.h"

namespace dovetail::explore {

namespace {

constexpr std::size_t kBatch = 32;

// A column for each decision that any candidate has, in an order that agrees with each candidate's.
void add_columns(const tune::Candidate& candidate, std::vector<std::string>& columns) {
  auto place = columns.begin();
  for (const schedule::Decision& decision : candidate.sampled) {
    const auto known = std::ranges::find(columns, decision.name);
    place = known == columns.end() ? columns.insert(place, decision.name) + 1 : known + 1;
  }
}

TableRow row_of(const tune::Candidate& candidate, const tune::Measurement& measured) {
  // Times have no more digits than a thousandth is worth.
  const bool works = measured.outcome == tune::Outcome::measured;
  const double cost = works ? std::round(measured.cost * 10) / 10 : std::numeric_limits<double>::infinity();
  return {candidate.decisions(), measured.outcome, cost};
}

}  // namespace

Result<Table> make_table(const schedule::Task& task, const schedule::Sketch& sketch, tune::Measurer& measurer,
                         const TableOptions& options) {
  tune::SketchSpace space(task, sketch);
  tune::NeighbourRanking unasked;
  DOVETAIL_ASSIGN(const tune::SearchRow* const random, tune::find_search("random"));
  const auto search = random->make(space, unasked, options.seed);
  Table table;
  table.task = schedule::key(task);
  table.machine = measurer.machine();
  table.unit = measurer.unit();
  table.sketch_version = sketch.version;

  const auto measure = [&](const std::vector<tune::Candidate>& candidates) {
    std::vector<const schedule::Scheduled*> scheduled;
    for (const tune::Candidate& candidate : candidates) scheduled.push_back(candidate.scheduled.get());
    const std::vector<tune::Measurement> measured = measurer.measure(scheduled);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      add_columns(candidates[i], table.decisions);
      table.rows.push_back(row_of(candidates[i], measured[i]));
    }
    if (options.on_progress) options.on_progress(table.rows.size());
    return measured.front();
  };
  DOVETAIL_ASSIGN(tune::Candidate first, space.default_candidate());
  const tune::Measurement of_default = measure({std::move(first)});
  if (of_default.outcome != tune::Outcome::measured)
    return Diagnostic{"cannot measure a tuning table", task.program.name,
                      fmt::format("its default schedule: {}, {}", tune::to_string(of_default.outcome), of_default.why),
                      "nothing can be compared with it; report it"};
  while (table.rows.size() < options.most) {
    const auto candidates = search->propose(std::min(kBatch, options.most - table.rows.size()));
    table.whole = candidates.empty();
    if (table.whole) break;
    measure(candidates);
  }
  return table;
}

}  // namespace dovetail::explore
