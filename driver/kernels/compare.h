// One loop program on several targets, each with its own schedule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/kernels/profile.h"
#include "driver/loop_program.h"

namespace dovetail::driver {

struct TargetKernel {
  std::string target;
  LoopProgram program;  // with the target's schedule
};

struct ComparedKernel {
  std::string target;
  std::int64_t steps = 0;                   // of its schedule
  std::string unavailable = {}, hint = {};  // why it has no results
  LoopProfile profile = {};
  std::string wrong = {};  // find_wrong_value() of its outputs; empty: those of the program without its schedule
  bool available() const { return unavailable.empty(); }
};

// The rows in the order of the kernels. A target that does not take its program gets a row with the reason. Errors: the
// interpreter fails, for example because an index is out of bounds; the work was stopped.
Result<std::vector<ComparedKernel>> compare_kernels(const std::vector<TargetKernel>& kernels, const Tensors& inputs,
                                                    const LoopProfileOptions& options);

}  // namespace dovetail::driver
