// The schedules of a task as a search sees them.
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
  std::vector<schedule::Decision> sampled;  // all that the sketch sampled, in order, with what each was chosen from
  std::vector<double> features;             // see features.h
  std::shared_ptr<const schedule::Scheduled> scheduled;  // null where a search is replayed from a table

  schedule::Decisions decisions() const;
  // Equal for equal decisions: "pack=yes tile_rows=4".
  std::string text() const;
};

// What a candidate has where `wanted` does not say.
enum class Rest : std::uint8_t { analytic, random };

class SearchSpace {
 public:
  virtual ~SearchSpace() = default;
  // The analytic choice everywhere. Error: the task has no schedule.
  virtual Result<Candidate> default_candidate() = 0;
  // The candidate with these decisions. One that the sketch does not take there, because it depends on others, is left
  // to `rest`. nullopt: no such schedule is legal, or fits the machine.
  virtual std::optional<Candidate> complete(const schedule::Decisions& wanted, Rest rest, SplitMix64& random) = 0;
};

}  // namespace dovetail::tune
