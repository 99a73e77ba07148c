// A task's schedules as its sketch writes them.
#pragma once

#include "compiler/schedule/task.h"
#include "compiler/tune/candidate.h"

namespace dovetail::tune {

class SketchSpace final : public SearchSpace {
 public:
  // Task and sketch outlive the space.
  SketchSpace(const schedule::Task& task, const schedule::Sketch& sketch) : task_(task), sketch_(sketch) {}

  Result<Candidate> default_candidate() override;
  std::optional<Candidate> complete(const schedule::Decisions& wanted, Rest rest, SplitMix64& random) override;

 private:
  Candidate candidate(schedule::Scheduled scheduled) const;

  const schedule::Task& task_;
  const schedule::Sketch& sketch_;
};

}  // namespace dovetail::tune
