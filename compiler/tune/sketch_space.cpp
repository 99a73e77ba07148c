#include "compiler/tune/sketch_space.h"

#include <utility>

#include "compiler/tune/features.h"

namespace dovetail::tune {

Candidate SketchSpace::candidate(schedule::Scheduled scheduled) const {
  Candidate made;
  made.sampled = scheduled.decisions;
  made.features = features(task_, scheduled);
  made.scheduled = std::make_shared<const schedule::Scheduled>(std::move(scheduled));
  return made;
}

Result<Candidate> SketchSpace::default_candidate() {
  DOVETAIL_ASSIGN(schedule::Scheduled scheduled, schedule::run(sketch_, task_));
  return candidate(std::move(scheduled));
}

std::optional<Candidate> SketchSpace::complete(const schedule::Decisions& decisions, Rest rest, SplitMix64& random) {
  schedule::Deciding deciding{decisions, /*lenient=*/true};
  if (rest == Rest::random)
    deciding.draw = [&random](std::size_t count) { return static_cast<std::size_t>(random.next() % count); };
  auto scheduled = schedule::try_run(sketch_, task_, std::move(deciding));
  if (!scheduled.ok() || !*scheduled) return std::nullopt;
  return candidate(**std::move(scheduled));
}

}  // namespace dovetail::tune
