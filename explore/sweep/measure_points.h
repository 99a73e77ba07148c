// Compiles and times points: a pure function of models, space and the points' genes, the same in every process of a
// sweep.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/work.h"
#include "explore/sweep/evaluate.h"
#include "explore/sweep/points_file.h"
#include "explore/sweep/space.h"

namespace dovetail::explore {

// The evaluator for a point, which depends on its numeric choices.
using EvaluatorFor = std::function<const Evaluator&(const Genes& genes)>;

// The part of a point's record that comes from measuring.
struct Measured {
  PointState state = PointState::measured;
  std::string why;
  Json values;  // null: not measured
  Json models = Json::array();
};

struct MeasurePlan {
  bool check = true;    // run the programs once with values; each row of `models` has the outcome
  bool layers = false;  // each row of `models` has its layers
};
// Measures points that share their hardware and numeric choices, with one compilation. `done` is called for each point
// as soon as it is measured, with its position. Errors: errors of `done`; the machine has no more resources; the work
// was stopped. A point whose programs do not fit is infeasible, and one whose programs compute another result or break
// an invariant has failed: neither is an error of the sweep.
Result<void> measure_points(const Space& space, const Evaluator& evaluator, std::span<const isa::Machine> machines,
                            const MeasurePlan& plan, Work* work,
                            const std::function<Result<void>(std::size_t point, Measured measured)>& done);

// The same as a job of a farm (explore/distribute/farm.h). `keys`: keys of the points.
std::string job_text(std::span<const Genes> genes, std::span<const std::string> keys);
// Does the job. Errors also: the job's keys differ from those of this process's space.
Result<std::string> do_job(const Space& space, const EvaluatorFor& evaluator, const MeasurePlan& plan,
                           std::string_view job);
// Parses a result: one entry for each point. Error: the text is not a result.
Result<std::vector<Measured>> job_result(std::string_view text, std::size_t points);

}  // namespace dovetail::explore
