// The schedules of a task that a table has, as a search space: costs come from the table, and only measured candidates
// are completed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/schedule/task.h"
#include "compiler/tune/candidate.h"
#include "explore/replay/table.h"

namespace dovetail::explore {

// It has no state visible to a search, so any number of searches can use one space in sequence.
class TableSpace final : public tune::SearchSpace {
 public:
  // Runs the sketch once for each row, for its features and the choices of each decision. Task, sketch and table
  // outlive the space. Error: the table is for another task or sketch version, or the sketch no longer makes one of its
  // candidates.
  static Result<TableSpace> make(const schedule::Task& task, const schedule::Sketch& sketch, const Table& table);

  Result<tune::Candidate> default_candidate() override { return candidates_.front(); }
  // Analytic: the sketch's candidate for `decided`, or if the table does not have it, the row that agrees with it in
  // the most decisions. Random: any of the rows that agree with `decided`. A decision is ignored if no row that agrees
  // with the decisions before it agrees with it too, like a decision that a sketch does not accept.
  std::optional<tune::Candidate> complete(const schedule::Decisions& decided, tune::Rest rest,
                                          SplitMix64& random) override;

  double cost(const tune::Candidate& candidate) const;                         // precondition: of this space
  std::span<const tune::Candidate> candidates() const { return candidates_; }  // in the order of the table's rows

 private:
  TableSpace(const schedule::Task& task, const schedule::Sketch& sketch, const Table& table)
      : task_(&task), sketch_(&sketch), table_(&table) {}

  std::optional<std::size_t> analytic_row(const schedule::Decisions& decided) const;
  std::vector<std::size_t> agreeing(const schedule::Decisions& decided) const;

  const schedule::Task* task_;
  const schedule::Sketch* sketch_;
  const Table* table_;
  std::vector<tune::Candidate> candidates_;            // candidates of the table's rows
  std::unordered_map<std::string, std::size_t> rows_;  // by Candidate::text
  std::unordered_map<std::string, std::optional<std::size_t>>
      analytic_;  // by text of the given decisions, as searches ask for them
};

}  // namespace dovetail::explore
