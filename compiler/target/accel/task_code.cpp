#include "compiler/target/accel/task_code.h"

#include "base/dtype.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/target/accel/lower/lower.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/stream/finish_code.h"

namespace dovetail::accel {

namespace {

DeviceSpace empty_space() { return {.base = kMemoryBase, .granule = kPage, .next = kMemoryBase}; }

Result<TaskCode> make_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                           const isa::HardwareConfig& config, int times, DeviceSpace& space) {
  TaskCode result;
  for (const loops::Parameter& parameter : scheduled.program.parameters) {
    const loops::BufferNode& buffer = *parameter.buffer;
    result.addresses[buffer.name] =
        space.allocate(static_cast<std::uint64_t>(element_count(buffer.shape) * size_bytes(buffer.dtype)));
  }
  const LoweringFacts facts(config);
  SramHistory history;
  Stream stream;
  const Placements placements = find_places(scheduled.program, *task.intrinsics, config);
  for (int time = 0; time < times; ++time) {
    DOVETAIL_ASSIGN(const Placements placed, place_buffers(scheduled.program, placements, config, history));
    DOVETAIL_ASSIGN(const Lowered lowered, lower(scheduled.program, *task.intrinsics, facts, placed));
    append(lowered, scheduled.program, facts, result.addresses, time, history, stream);
  }
  DOVETAIL_TRY(finish_code(stream, task.program.name, config, space, result.code));
  result.memory_base = space.base;
  result.memory_bytes = space.next - space.base;
  return result;
}

}  // namespace

Result<TaskCode> task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                           const isa::HardwareConfig& config) {
  DeviceSpace space = empty_space();
  DOVETAIL_ASSIGN(TaskCode result, make_code(task, scheduled, config, 1, space));
  if (const std::string findings = findings_of(result.code, space); !findings.empty())
    return Diagnostic{"cannot run " + task.program.name, task.program.name, findings,
                      "this is a bug of the kit, since the schedule is legal: report it"};
  return result;
}

Result<TaskCode> repeated_task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                                    const isa::HardwareConfig& config, int times) {
  DeviceSpace space = empty_space();
  return make_code(task, scheduled, config, times, space);
}

}  // namespace dovetail::accel
