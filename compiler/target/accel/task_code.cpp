#include "compiler/target/accel/task_code.h"

#include "base/dtype.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/target/accel/finish_code.h"
#include "compiler/target/accel/lower.h"

namespace dovetail::accel {

Result<TaskCode> task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                           const isa::HardwareConfig& config) {
  DeviceSpace space{.base = kMemoryBase, .granule = kPage, .next = kMemoryBase};
  TaskCode result;
  for (const loops::Parameter& parameter : scheduled.program.parameters) {
    const loops::BufferNode& buffer = *parameter.buffer;
    result.addresses[buffer.name] =
        space.allocate(static_cast<std::uint64_t>(element_count(buffer.shape) * size_bytes(buffer.dtype)));
  }
  SramHistory history;
  Stream stream;
  DOVETAIL_ASSIGN(
      const Placements placements,
      place_buffers(scheduled.program, find_places(scheduled.program, *task.intrinsics, config), config, history));
  DOVETAIL_TRY(lower(scheduled.program, *task.intrinsics, config, result.addresses, placements, 0, history, stream));
  DOVETAIL_TRY(finish_code(stream, task.program.name, config, space, result.code));
  if (const std::string findings = findings_of(result.code, space); !findings.empty())
    return Diagnostic{"cannot run " + task.program.name, task.program.name, findings,
                      "report it: its schedule is legal"};
  result.memory_base = space.base;
  result.memory_bytes = space.next - space.base;
  return result;
}

}  // namespace dovetail::accel
