// Searches the schedules of a loop program, with the searches of `dovetail tune`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "compiler/schedule/step.h"
#include "compiler/tune/tune.h"
#include "driver/kernels/runner.h"
#include "driver/loop_program.h"

namespace dovetail::driver {

struct TuneLoopsOptions {
  std::string target = "cpu";  // "cpu": measured time; "accel": cycles of the cycle engine
  int threads = 1;             // of the processor
  std::int64_t trials = 64;
  std::string search = "guided";  // tune::searches()
  std::uint64_t seed = 1;         // of the search
  Work* work = nullptr;           // may stop the search, which then returns the best so far
  std::function<void(const tune::Progress&)> on_progress = nullptr;
};

struct TunedLoops {
  tune::TaskResult result;
  std::string space;         // "the schedule's 2 samples", or the sketch of the compiler
  std::int64_t illegal = 0;  // combinations of decisions that a step or the target rejects
  std::string schedule;      // the best, as the text of a trace that the program takes
};

// Searches the values of the `sample` steps of a schedule; without steps, on the processor, the compiler's own
// schedules of the program. `inputs`: the tensors of all measurements; the results of each are compared with the
// program without its schedule. Values that a step or the target rejects count as illegal. Errors: the steps have no
// sample, or no value of it is legal; the compiler has no schedule for the program, or on the target; the inputs do not
// fit.
Result<TunedLoops> tune_loops(const LoopProgram& written, const std::vector<schedule::Step>& steps,
                              const Tensors& inputs, const TuneLoopsOptions& options);

}  // namespace dovetail::driver
