// The schedules of a task, as seen by a search.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "compiler/schedule/decisions.h"
#include "compiler/schedule/sketch.h"

namespace dovetail::tune {

struct Candidate {
  std::vector<schedule::Decision> sampled;  // all decisions that the sketch sampled, in order, with their choices
  std::vector<double> features;             // see features.h
  std::shared_ptr<const schedule::Scheduled> scheduled;  // null if a search is replayed from a table

  schedule::Decisions decisions() const;
  // Equal decisions have equal texts: "pack=yes tile_rows=4".
  std::string text() const;
};

// How decisions that are not given are chosen.
enum class Rest : std::uint8_t { analytic, random };

class SearchSpace {
 public:
  virtual ~SearchSpace() = default;
  // Uses the analytic choice for every decision. Error: the task has no schedule.
  virtual Result<Candidate> default_candidate() = 0;
  // The candidate with these decisions. A decision that the sketch does not offer there, because it depends on others,
  // is left to `rest`. nullopt: no such schedule is legal or fits the machine.
  virtual std::optional<Candidate> complete(const schedule::Decisions& decisions, Rest rest, SplitMix64& random) = 0;
};

}  // namespace dovetail::tune
