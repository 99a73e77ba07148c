// The processor's sketch for a loop program that comes from no operator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/step.h"
#include "compiler/schedule/task.h"
#include "compiler/target/cpu/cpu.h"

namespace dovetail::driver {

struct OwnSketch {
  schedule::Task task;
  schedule::Sketch sketch;
  // Sketches know the blocks of operators by name: the names that blocks have in the task, and those of the program.
  std::map<std::string, std::string> renamed = {};
};

// The sketch of matrix products for a program with one product, otherwise the one of any program. No prepare step runs,
// so a trace applies to the program as it is. Error: no sketch applies.
Result<OwnSketch> sketch_for(const schedule::Task& task, const cpu::Cpu& processor);

// A trace in the names of the program.
std::vector<schedule::Step> with_own_names(std::vector<schedule::Step> trace,
                                           const std::map<std::string, std::string>& renamed);

}  // namespace dovetail::driver
