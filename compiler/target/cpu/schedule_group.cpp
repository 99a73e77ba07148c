#include "compiler/target/cpu/schedule_group.h"

#include "compiler/target/cpu/sketches/sketches.h"

namespace dovetail::cpu {

namespace {

ScheduledGroup scheduled_group(const FusedGroup& group, Preparation&& made, schedule::Scheduled&& scheduled) {
  ScheduledGroup result{std::move(scheduled.program), std::move(scheduled.trace), {}, {}, made.task.kind,
                        std::move(made.constants)};
  std::vector<bool> results_follow;
  for (const loops::Parameter& parameter : group.program.parameters) {
    const std::string& name = parameter.buffer->name;
    const auto layout = scheduled.layouts.find(name);
    const bool output = parameter.role == loops::ParameterRole::output;
    (output ? result.result_layouts : result.argument_layouts)
        .push_back(layout == scheduled.layouts.end() ? "" : layout->second);
    (output ? results_follow : result.follows).push_back(scheduled.follows.contains(name));
  }
  result.follows.insert(result.follows.end(), results_follow.begin(), results_follow.end());
  return result;
}

}  // namespace

ScheduledGroup schedule_group(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& cpu,
                              const schedule::FindRecorded& recorded, std::vector<std::string>& notes) {
  for (const Kind& kind : kKinds) {
    Preparation made(group, layouts, cpu, kind.name);
    kind.prepare(made);
    schedule::Origin origin;
    auto scheduled = schedule::try_run(sketch_of(kind, cpu), made.task, recorded, origin);
    if (scheduled.ok() && !*scheduled) continue;
    if (scheduled.ok()) {
      ScheduledGroup result = scheduled_group(group, std::move(made), **std::move(scheduled));
      result.origin = std::move(origin);
      return result;
    }
    notes.push_back("schedule " + std::string(kind.name) + " was refused: " + to_string(scheduled.errors()));
  }
  // The operator's definition, unscheduled; LLVM's vectorizer does what it can.
  const std::size_t arguments = group.arguments.size(), results = group.results.size();
  return {group.program, {}, std::vector<std::string>(arguments),          std::vector<std::string>(results),
          "none",        {}, std::vector<bool>(arguments + results, false)};
}

loops::Program schedule_copy(const loops::Program& program, const Cpu& cpu) {
  FusedGroup group;
  group.program = program;
  GroupLayouts plain;
  for (const loops::Parameter& parameter : program.parameters)
    (parameter.role == loops::ParameterRole::output ? plain.results : plain.arguments).emplace_back();
  const Preparation made(group, plain, cpu, "generic");
  auto scheduled = schedule::run(sketch_of(*find_kind("generic"), cpu), made.task);
  return scheduled.ok() ? std::move(scheduled->program) : program;
}

}  // namespace dovetail::cpu
