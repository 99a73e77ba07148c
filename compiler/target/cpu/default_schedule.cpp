#include "compiler/target/cpu/default_schedule.h"

#include <array>

#include "compiler/target/cpu/schedules/schedules.h"

namespace dovetail::cpu {

namespace {

struct Row {
  std::string_view kind;
  bool (*schedule)(Builder& builder);
};
// The first that knows the group.
constexpr std::array<Row, 4> kSchedules{{
    {"convolution", schedule_convolution},
    {"window", schedule_window},
    {"matmul", schedule_matmul},
    {"generic", schedule_generic},
}};

}  // namespace

Result<ScheduledGroup> default_schedule(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& cpu,
                                        std::vector<std::string>& notes) {
  for (const Row& row : kSchedules) {
    Builder builder(group, layouts, cpu);
    if (!row.schedule(builder)) continue;
    const Result<void> status = builder.s.status();
    if (status.ok()) return builder.finish(std::string(row.kind));
    notes.push_back("schedule " + std::string(row.kind) + " was refused: " + to_string(status.errors()) +
                    "\n  after\n" + schedule::to_string(builder.s.trace()));
  }
  // As the operator defines it; LLVM's own vectorizer does what it can.
  return ScheduledGroup{group.program,
                        {},
                        std::vector<std::string>(group.arguments.size()),
                        std::vector<std::string>(group.results.size()),
                        "none",
                        {},
                        std::vector<bool>(group.arguments.size() + group.results.size(), false)};
}

}  // namespace dovetail::cpu
