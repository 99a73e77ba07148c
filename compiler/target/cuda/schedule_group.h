// A group's schedule, and its kernels.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/fuse/fuse.h"
#include "compiler/schedule/recorded.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/cuda/gpu.h"
#include "loops/ir.h"
#include "loops/threads/thread_program.h"

namespace dovetail::cuda {

struct ScheduledGroup {
  loops::Program program;
  std::vector<schedule::Step> trace;
  std::string kind;  // kind of the sketch; "none": the operator's definition, in one thread
  schedule::Origin origin;
  loops::ThreadProgram kernels;
  std::vector<std::string> notes;            // rejected schedules
  std::map<std::size_t, NdArray> constants;  // arguments replaced by other constants than the group's
};

// Whether floating-point sums may be added in another order than the definition's.
enum class FloatSums { in_order, free };

// Uses the first sketch whose schedule can be lowered to kernels. Error: not even the unscheduled program can.
Result<ScheduledGroup> schedule_group(const FusedGroup& group, const Gpu& gpu, const schedule::FindRecorded& recorded,
                                      FloatSums float_sums = FloatSums::in_order);

// The same for a program that belongs to no graph: its default schedule by the first sketch that applies.
Result<ScheduledGroup> schedule_program(const loops::Program& program, const Gpu& gpu);

}  // namespace dovetail::cuda
