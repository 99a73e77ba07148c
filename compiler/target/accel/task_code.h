// A task's schedule as a separate program with its own memory, to measure a candidate.
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
  std::map<std::string, std::uint64_t> addresses;  // addresses of parameters, in the layouts of `Scheduled::layouts`
  std::uint64_t memory_base = 0, memory_bytes = 0;
};
// Errors: the program does not fit the configuration, or breaks a rule of the ISA.
Result<TaskCode> task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                           const isa::HardwareConfig& config);
// The task `times` times in sequence, only for timing, without verification. Errors: the program does not fit.
Result<TaskCode> repeated_task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                                    const isa::HardwareConfig& config, int times);

}  // namespace dovetail::accel
