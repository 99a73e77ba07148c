#include "compiler/target/accel/task_code.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/dtype.h"
#include "bundle/code/accel.h"
#include "compiler/target/accel/lower/lower.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/schedule/operation_shape.h"
#include "compiler/target/accel/stream/finish_code.h"
#include "isa/text.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"

namespace dovetail::accel {

namespace {

DeviceSpace empty_space() { return {.base = kMemoryBase, .granule = kPage, .next = kMemoryBase}; }

Result<TaskCode> make_code(const schedule::Task& task, const schedule::Scheduled& scheduled, const Core& config,
                           int times, DeviceSpace& space, const Dump& dump) {
  TaskCode result;
  DOVETAIL_ASSIGN(const Placements placements, find_places(scheduled.program, *task.intrinsics, config));
  DramPlaces places;
  for (const loops::Parameter& parameter : scheduled.program.parameters) {
    const loops::BufferNode& buffer = *parameter.buffer;
    const std::uint64_t address =
        space.allocate(static_cast<std::uint64_t>(element_count(buffer.shape) * size_bytes(buffer.dtype)));
    result.addresses[buffer.name] = address;
    places[buffer.name] = {address, task.intent.int4_weights && buffer.name == kWeights};
  }
  const LoweringFacts facts(config);
  SramHistory history;
  Stream stream;
  for (int time = 0; time < times; ++time) {
    DOVETAIL_ASSIGN(const Placements placed, place_buffers(scheduled.program, placements, config, history));
    if (dump) dump("places", places_text(scheduled.program, placed));
    DOVETAIL_ASSIGN(const Lowered lowered, lower(scheduled.program, *task.intrinsics, facts, placed));
    append(lowered, scheduled.program, facts, places, time, history, stream);
  }
  std::vector<LaunchStream> launches;
  launches.push_back({std::move(stream)});
  DOVETAIL_TRY(finish_code(launches, task.program.name, config, space, result.code, dump));
  if (dump) dump("stream", isa::format_assembly(config, result.code.program));
  result.memory_base = space.base;
  result.memory_bytes = space.next - space.base;
  return result;
}

// Error: isa/verify has findings, which `hint` explains.
Result<void> check_code(const TaskCode& made, const std::string& name, const DeviceSpace& space, std::string hint) {
  if (std::string findings = findings_of(made.code, space); !findings.empty())
    return Diagnostic{"cannot run " + name, name, std::move(findings), std::move(hint)};
  return {};
}

// What no schedule changes: results are integers, and addresses do not depend on data.
Result<void> check_integers_and_addresses(const loops::Program& program) {
  Diagnostics errors;
  for (const loops::Parameter& parameter : program.parameters)
    if (parameter.role == loops::ParameterRole::output && is_floating(parameter.buffer->dtype))
      errors.push_back(cannot_lower(
          program, "result " + parameter.buffer->name,
          fmt::format("it is {}, and the accelerator computes int8 and int32", name(parameter.buffer->dtype)),
          "compute with integers and scales, or use the target cpu"));
  std::set<std::string> indirect;
  const auto note = [&](const loops::Buffer& buffer, const std::vector<loops::Expr>& indices) {
    if (std::ranges::any_of(indices, loops::holds_load)) indirect.insert(buffer->name);
  };
  loops::visit_exprs(program.body, [&](const loops::Expr& e) {
    if (const auto* n = std::get_if<loops::LoadExpr>(&e->node)) note(n->buffer, n->indices);
  });
  loops::visit_stmts(program.body, [&](const loops::Stmt& stmt) {
    if (const auto* store = std::get_if<loops::Store>(&stmt->node))
      for (const loops::StoreTarget& target : store->targets) note(target.buffer, target.indices);
  });
  for (const std::string& buffer : indirect)
    errors.push_back(cannot_lower(program, "buffer " + buffer,
                                  "an index of it is data, and addresses of the accelerator are fixed",
                                  "use the target cpu"));
  return errors;
}

}  // namespace

Result<TaskCode> task_code(const schedule::Task& task, const schedule::Scheduled& scheduled, const Core& config) {
  DeviceSpace space = empty_space();
  DOVETAIL_ASSIGN(TaskCode result, make_code(task, scheduled, config, 1, space, nullptr));
  DOVETAIL_TRY(
      check_code(result, task.program.name, space, "this is a bug of the kit, since the schedule is legal: report it"));
  return result;
}

Result<TaskCode> repeated_task_code(const schedule::Task& task, const schedule::Scheduled& scheduled,
                                    const Core& config, int times) {
  DeviceSpace space = empty_space();
  return make_code(task, scheduled, config, times, space, nullptr);
}

Result<void> add_task(const schedule::Task& task, const schedule::Scheduled& scheduled, const Core& config,
                      BundleBuilder& builder, const Dump& dump) {
  const loops::Program& program = scheduled.program;
  DOVETAIL_TRY(check_integers_and_addresses(task.program));
  DOVETAIL_ASSIGN(const Placements placements, find_places(program, *task.intrinsics, config));
  DOVETAIL_TRY(check_private(program, *task.intrinsics, placements));
  DeviceSpace& space = builder.space(bundle::kAccelTarget, "DRAM of " + config.name, kMemoryBase, kPage);
  DOVETAIL_ASSIGN(TaskCode made, make_code(task, scheduled, config, 1, space, dump));
  DOVETAIL_TRY(check_code(made, program.name, space,
                          "let the program write each element before it reads it; else this is a bug of the kit: "
                          "report it"));
  bundle::Step step;
  step.name = program.name;
  for (const loops::Parameter& parameter : program.parameters) {
    const std::string& name = parameter.buffer->name;
    const graph::ValueId value = *builder.graph().find_value(name);
    const auto found = scheduled.layouts.find(name);
    const std::string layout = found == scheduled.layouts.end() ? "" : found->second;
    const bool is_result = parameter.role == loops::ParameterRole::output;
    const bundle::TensorIndex tensor = is_result ? builder.result(value, layout) : builder.in_layout(value, layout);
    const std::uint64_t address = made.addresses.at(name);
    (is_result ? step.results : step.arguments).push_back(tensor);
    (is_result ? made.code.result_addresses : made.code.argument_addresses).push_back(address);
    builder.place(tensor, space, address);
  }
  made.code.ranges = {{0, made.code.program.size(), step.name, {}}};
  bundle::encode(made.code, step);
  builder.add_step(std::move(step));
  return {};
}

}  // namespace dovetail::accel
