#include "compiler/target/cpu/default_schedule.h"

#include "compiler/target/cpu/intrinsics.h"

namespace dovetail::cpu {

Result<ScheduledGroup> default_schedule(const FusedGroup& group, const std::vector<std::string>& layouts, const Cpu& cpu, std::vector<std::string>&) {
  (void)cpu;
  ScheduledGroup result{group.program, {}, std::vector<std::string>(layouts.size()), std::vector<std::string>(group.results.size()), "generic"};
  return result;
}

}  // namespace dovetail::cpu
