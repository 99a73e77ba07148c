// A group's schedule, and the kernels that it becomes.
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
  std::string kind;  // of the sketch; "none": as the operator defines it, in one thread
  schedule::Origin origin;
  loops::ThreadProgram kernels;
  std::vector<std::string> notes;            // what was refused before
  std::map<std::size_t, NdArray> constants;  // arguments that are to be another constant than the group's
};

// Whether sums of floating numbers may be added up in another order than the definition's.
enum class FloatSums { in_order, free };

// By the first sketch whose schedule becomes kernels. Error: not even the program as it is does.
Result<ScheduledGroup> schedule_group(const FusedGroup& group, const Gpu& gpu, const schedule::FindRecorded& recorded,
                                      FloatSums float_sums = FloatSums::in_order);

}  // namespace dovetail::cuda
