// A task's schedule as a separate program with its own memory, to measure a candidate, or as the step of a bundle.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "bundle/code/accel.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/target.h"

namespace dovetail::accel {

struct TaskCode {
  bundle::AccelCode code;
  std::map<std::string, std::uint64_t> addresses;  // addresses of parameters, in the layouts of `Scheduled::layouts`
  std::uint64_t memory_base = 0, memory_bytes = 0;
};
// Errors: the program does not fit the configuration, or breaks a rule of the ISA.
Result<TaskCode> task_code(const schedule::Task& task, const schedule::Scheduled& scheduled, const Core& config);
// The task `times` times in sequence, only for timing, without verification. Errors: the program does not fit.
Result<TaskCode> repeated_task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                                    const Core& config, int times);

// Adds the step of a program that was scheduled by hand, which need not have the form that the sketches make. Its
// parameters are the values of those names in the builder's graph; in_layout() copies them to `Scheduled::layouts`.
// `dump`, which may be null, gets "places" and the stages of the stream (finish_code.h). Errors: the program has no
// form as instructions, or does not fit the configuration. Precondition: loops keep the guarantees of their kinds.
Result<void> add_task(const schedule::Task& task, const schedule::Scheduled& scheduled, const Core& config,
                      BundleBuilder& builder, const Dump& dump);

}  // namespace dovetail::accel
