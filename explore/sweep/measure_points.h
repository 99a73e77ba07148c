// Points that are compiled and timed: a pure function of models, space and the points' genes, whichever process of a
// sweep computes it.
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

// Of a point: one for each of the space's numeric choices.
using EvaluatorFor = std::function<const Evaluator&(const Genes& genes)>;

// What measuring has to say of a point's record.
struct Measured {
  PointState state = PointState::measured;
  std::string why;
  Json values;  // null: nothing was measured
  Json models = Json::array();
};

// Points that share their hardware and their numerics: one compilation. With `check` the programs also run with values,
// once. `done` gets each as soon as it is measured, by position. Errors: results that are wrong; of `done`; the machine
// gave no more. What no program fits is an infeasible point.
Result<void> measure_points(const Space& space, const Evaluator& evaluator, std::span<const isa::Machine> machines,
                            bool check, Work* work,
                            const std::function<Result<void>(std::size_t point, Measured measured)>& done);

// The same as a job of a farm (explore/distribute/farm.h). `keys`: of the points.
std::string job_text(std::span<const Genes> genes, std::span<const std::string> keys);
// Errors also: the job's keys are not those of this process's space.
Result<std::string> do_job(const Space& space, const EvaluatorFor& evaluator, bool check, std::string_view job);
// One for each point. Error: it is not a result.
Result<std::vector<Measured>> job_result(std::string_view text, std::size_t points);

}  // namespace dovetail::explore
