// A task's schedule as its own program, with a memory that holds nothing else: what is measured of a candidate.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "bundle/code/accel.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "isa/config.h"

namespace dovetail::accel {

struct TaskCode {
  bundle::AccelCode code;
  std::map<std::string, std::uint64_t> addresses;  // of parameters, as `Scheduled::layouts` lays them out
  std::uint64_t memory_base = 0, memory_bytes = 0;
};
// Errors: what does not fit the configuration, or breaks a rule of the ISA.
Result<TaskCode> task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                           const isa::HardwareConfig& config);
// The task so many times in a row, to be timed alone: nobody has proven it. Errors: what does not fit.
Result<TaskCode> repeated_task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                                    const isa::HardwareConfig& config, int times);

}  // namespace dovetail::accel
