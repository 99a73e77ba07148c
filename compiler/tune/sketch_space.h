// The schedules of a task, given by its sketch.
#pragma once

#include "compiler/schedule/task.h"
#include "compiler/tune/candidate.h"

namespace dovetail::tune {

class SketchSpace final : public SearchSpace {
 public:
  // Task and sketch must outlive the space.
  SketchSpace(const schedule::Task& task, const schedule::Sketch& sketch) : task_(task), sketch_(sketch) {}

  Result<Candidate> default_candidate() override;
  std::optional<Candidate> complete(const schedule::Decisions& decisions, Rest rest, SplitMix64& random) override;

 private:
  Candidate candidate(schedule::Scheduled scheduled) const;

  const schedule::Task& task_;
  const schedule::Sketch& sketch_;
};

}  // namespace dovetail::tune
