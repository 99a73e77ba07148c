// Chooses the schedule of a fused group: the first kind of sketch that accepts it, with recorded or analytic decisions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/fuse/fuse.h"
#include "compiler/schedule/recorded.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/prepare.h"

namespace dovetail::cpu {

// Layouts are index maps (compiler/schedule/index_map.h); empty: the model's layout.
struct ScheduledGroup {
  loops::Program program;
  std::vector<schedule::Step> trace;
  std::vector<std::string> argument_layouts, result_layouts;
  std::string kind;                               // "convolution", "generic", ...
  std::map<std::size_t, NdArray> constants = {};  // arguments replaced by other constants than the group's
  std::vector<bool> follows =
      {};  // arguments, then results: uses the layout given by GroupLayouts, and accepts any other
  schedule::Origin origin = {};
};

// A schedule with a rejected step falls back to a simpler one; the rejected steps are in `notes`. ScheduledGroup holds
// the final layouts of the operands.
ScheduledGroup schedule_group(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& cpu,
                              const schedule::FindRecorded& recorded, std::vector<std::string>& notes);

// Schedules a program without a group, such as a copy between layouts, with the layouts of its parameters.
loops::Program schedule_copy(const loops::Program& program, const Cpu& cpu);

}  // namespace dovetail::cpu
