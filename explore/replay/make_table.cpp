#include "explore/replay/make_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "compiler/tune/neighbor_ranking.h"
#include "compiler/tune/search.h"
#include "compiler/tune/search/explorer.h"
#include "compiler/tune/sketch_space.h"

namespace dovetail::explore {

namespace {

constexpr std::size_t kBatch = 32;

std::vector<tune::Measurement> measure(tune::Measurer& measurer, const std::vector<tune::Candidate>& candidates) {
  std::vector<const schedule::Scheduled*> scheduled;
  for (const tune::Candidate& candidate : candidates) scheduled.push_back(candidate.scheduled.get());
  return measurer.measure(scheduled);
}

Diagnostic default_fails(const schedule::Task& task, const tune::Measurement& measured) {
  return {"cannot measure a tuning table", task.program.name,
          fmt::format("its default schedule failed: {}, {}", tune::to_string(measured.outcome), measured.why),
          "this is a bug of the kit: report it"};
}

// Adds a column for each decision of the candidate, in an order that is consistent with all candidates.
void add_columns(const tune::Candidate& candidate, std::vector<std::string>& columns) {
  auto place = columns.begin();
  for (const schedule::Decision& decision : candidate.sampled) {
    const auto known = std::ranges::find(columns, decision.name);
    place = known == columns.end() ? columns.insert(place, decision.name) + 1 : known + 1;
  }
}

TableRow row_of(const tune::Candidate& candidate, const tune::Measurement& measured) {
  // Times are rounded to a thousandth.
  const bool works = measured.outcome == tune::Outcome::measured;
  const double cost = works ? std::round(measured.cost * 10) / 10 : std::numeric_limits<double>::infinity();
  return {candidate.decisions(), measured.outcome, cost};
}

}  // namespace

Result<Table> make_table(const schedule::Task& task, const schedule::Sketch& sketch, tune::Measurer& measurer,
                         const TableOptions& options) {
  tune::SketchSpace space(task, sketch);
  tune::NeighborRanking unasked;
  DOVETAIL_ASSIGN(const tune::SearchRow* const random, tune::find_search("random"));
  const auto search = random->make(space, unasked, options.seed);
  Table table;
  table.task = schedule::key(task);
  table.machine = measurer.machine();
  table.unit = measurer.unit();
  table.sketch_version = sketch.version;

  const auto add = [&](const std::vector<tune::Candidate>& candidates) {
    const std::vector<tune::Measurement> measured = measure(measurer, candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      add_columns(candidates[i], table.decisions);
      table.rows.push_back(row_of(candidates[i], measured[i]));
    }
    if (options.on_progress) options.on_progress(table.rows.size());
    return measured.front();
  };
  DOVETAIL_ASSIGN(tune::Candidate first, space.default_candidate());
  const tune::Measurement of_default = add({std::move(first)});
  if (of_default.outcome != tune::Outcome::measured) return default_fails(task, of_default);
  while (table.rows.size() < options.most) {
    const auto candidates = search->propose(std::min(kBatch, options.most - table.rows.size()));
    table.whole = candidates.empty();
    if (table.whole) break;
    add(candidates);
  }
  return table;
}

Result<void> measure_best_again(const schedule::Task& task, const schedule::Sketch& sketch, tune::Measurer& measurer,
                                Table& table, std::size_t count, std::size_t times,
                                const std::function<void(std::size_t measured)>& on_progress) {
  if (table.task != schedule::key(task) || table.sketch_version != sketch.version)
    return Diagnostic{"cannot measure a tuning table again", table.name, "the task or its sketch has changed since",
                      "measure the table as a whole"};
  tune::SketchSpace space(task, sketch);
  SplitMix64 unused(1);
  DOVETAIL_ASSIGN(const tune::Candidate first, space.default_candidate());
  const tune::Measurement of_default = measure(measurer, {first}).front();
  if (of_default.outcome != tune::Outcome::measured) return default_fails(task, of_default);
  const double unit = table.rows.front().cost / of_default.cost;

  std::vector<TableRow*> rows;  // without the default
  for (TableRow& row : table.rows) rows.push_back(&row);
  rows.erase(rows.begin());
  count = std::min(count, rows.size());
  std::set<const TableRow*> done;
  while (true) {
    std::ranges::stable_sort(rows, {}, [](const TableRow* row) { return row->cost; });
    std::vector<TableRow*> next;
    for (TableRow* row : rows | std::views::take(count))
      if (next.size() < kBatch && std::isfinite(row->cost) && done.insert(row).second) next.push_back(row);
    if (next.empty()) return {};
    std::vector<tune::Candidate> candidates;
    for (const TableRow* row : next) {
      auto candidate = space.complete(row->decisions, tune::Rest::analytic, unused);
      if (!candidate || candidate->decisions() != row->decisions)
        return Diagnostic{"cannot measure a tuning table again", table.name,
                          fmt::format("there is no schedule with {}", tune::text_of(row->decisions)),
                          "measure the table as a whole"};
      candidates.push_back(*std::move(candidate));
    }
    std::vector<std::vector<tune::Measurement>> measured(next.size());
    for (std::size_t i = 0; i < times; ++i) {
      const auto all = measure(measurer, candidates);
      for (std::size_t j = 0; j < next.size(); ++j) measured[j].push_back(all[j]);
    }
    for (std::size_t j = 0; j < next.size(); ++j) {
      // A candidate that fails once counts as failed.
      const auto by_cost = [](const tune::Measurement& each) {
        return each.outcome == tune::Outcome::measured ? each.cost : std::numeric_limits<double>::infinity();
      };
      std::ranges::sort(measured[j], {}, by_cost);
      tune::Measurement median = measured[j].back();
      if (median.outcome == tune::Outcome::measured) median = measured[j][times / 2];
      median.cost *= unit;
      *next[j] = row_of(candidates[j], median);
    }
    if (on_progress) on_progress(done.size());
  }
}

}  // namespace dovetail::explore
