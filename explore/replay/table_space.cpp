#include "explore/replay/table_space.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "compiler/tune/features.h"
#include "compiler/tune/search/explorer.h"

namespace dovetail::explore {

Result<TableSpace> TableSpace::make(const schedule::Task& task, const schedule::Sketch& sketch, const Table& table) {
  const auto stale = [&](std::string why) {
    return Diagnostic{"cannot replay a tuning table", table.name, std::move(why),
                      "measure the table again: ./dev tuning tables " + table.name};
  };
  if (const std::string key = schedule::key(task); key != table.task)
    return stale(fmt::format("the table is for task {}, whose key is now {}", table.task, key));
  if (sketch.version != table.sketch_version)
    return stale(fmt::format("the table is for version {} of the sketch, which is now {}", table.sketch_version,
                             sketch.version));
  TableSpace space(task, sketch, table);
  for (const TableRow& row : table.rows) {
    const auto scheduled = schedule::run(sketch, task, row.decisions);
    const std::string text = tune::text_of(row.decisions);
    if (!scheduled.ok()) return stale(fmt::format("the sketch rejects {}: {}", text, scheduled.errors().front().why));
    tune::Candidate candidate;
    candidate.sampled = scheduled->decisions;
    candidate.features = tune::features(task, *scheduled);
    if (candidate.text() != text)
      return stale(fmt::format("the sketch decides {} where the table has {}", candidate.text(), text));
    if (!space.rows_.emplace(text, space.candidates_.size()).second) return stale(text + " occurs twice");
    space.candidates_.push_back(std::move(candidate));
  }
  return space;
}

double TableSpace::cost(const tune::Candidate& candidate) const {
  return table_->rows[rows_.at(candidate.text())].cost;
}

std::optional<tune::Candidate> TableSpace::complete(const schedule::Decisions& decided, tune::Rest rest,
                                                    SplitMix64& random) {
  std::string text = tune::text_of(decided);
  if (const auto row = rows_.find(text); row != rows_.end()) return candidates_[row->second];
  if (rest == tune::Rest::random) {
    const std::vector<std::size_t> rows = agreeing(decided);
    return candidates_[rows[static_cast<std::size_t>(random.next() % rows.size())]];
  }
  // Running the sketch takes milliseconds, and searches request the same decisions repeatedly.
  const auto [known, added] = analytic_.try_emplace(std::move(text));
  if (added) known->second = analytic_row(decided);
  return known->second ? std::optional(candidates_[*known->second]) : std::nullopt;
}

std::optional<std::size_t> TableSpace::analytic_row(const schedule::Decisions& decided) const {
  const auto scheduled = schedule::try_run(*sketch_, *task_, {decided, /*lenient=*/true});
  if (!scheduled.ok() || !*scheduled) return std::nullopt;
  schedule::Decisions decisions;
  for (const schedule::Decision& decision : (*scheduled)->decisions) decisions.emplace(decision.name, decision.value);
  const auto row = rows_.find(tune::text_of(decisions));
  return row != rows_.end() ? row->second : agreeing(decisions).front();
}

std::vector<std::size_t> TableSpace::agreeing(const schedule::Decisions& decided) const {
  std::vector<std::size_t> rows(candidates_.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  for (const std::string& name : table_->decisions) {
    const auto value = decided.find(name);
    if (value == decided.end()) continue;
    std::vector<std::size_t> closer;
    std::ranges::copy_if(rows, std::back_inserter(closer), [&](std::size_t row) {
      const auto there = table_->rows[row].decisions.find(name);
      return there != table_->rows[row].decisions.end() && there->second == value->second;
    });
    if (!closer.empty()) rows = std::move(closer);
  }
  return rows;
}

}  // namespace dovetail::explore
