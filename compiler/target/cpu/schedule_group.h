// The schedule that a fused group gets: that of the first kind of sketch that takes it, by recorded decisions or by its
// own.
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

// Layouts are index maps (compiler/schedule/index_map.h); empty: as the model has it.
struct ScheduledGroup {
  loops::Program program;
  std::vector<schedule::Step> trace;
  std::vector<std::string> argument_layouts, result_layouts;
  std::string kind;                               // "convolution", "generic", ...
  std::map<std::size_t, NdArray> constants = {};  // arguments that are to be another constant than the group's
  std::vector<bool> follows =
      {};  // arguments, then results: they lie as GroupLayouts said, and any layout would have done
  schedule::Origin origin = {};
};

// A schedule that a rule refuses half-way falls back to a simpler one; what was refused is in `notes`.
// ScheduledGroup says how the operands lie in the end.
ScheduledGroup schedule_group(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& cpu,
                              const schedule::FindRecorded& recorded, std::vector<std::string>& notes);

// The same of a program that no group has, a copy between layouts: parameters lie as it has them.
loops::Program schedule_copy(const loops::Program& program, const Cpu& cpu);

}  // namespace dovetail::cpu
