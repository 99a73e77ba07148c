#include "driver/timed_program.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dovetail::driver {

Result<std::vector<TimedProgram>> timed_programs(const bundle::Bundle& bundle, const runtime::RunResult& result,
                                                 const simulator::EngineOptions& options, bool ask_what_if) {
  DOVETAIL_ASSIGN(auto steps, bundle::accel_steps(bundle));
  std::vector<TimedProgram> programs;
  for (auto& [index, step, code] : steps) {
    const runtime::StepProfile& run = result.steps[index];
    if (run.launches.empty() || !run.launches.front().trace.knows_units()) continue;
    TimedProgram program{.name = step->name,
                         .config = code.config,
                         .program = code.program,
                         .launches = {},
                         .traces = {},
                         .counters = run.counters,
                         .ranges = code.ranges};
    program.others = code.others;
    if (!code.others.empty()) program.accelerators = isa::accelerators_of(code.program.size(), code.launches);
    for (const runtime::TimedLaunch& launch : run.launches) {
      program.launches.push_back(launch.launch);
      program.traces.push_back(launch.trace);
    }
    // Engine rtl runs launches that begin together one after the other, and has times of each.
    program.divided = run.launches.size() < run.runs * code.launches.size() ? options.accelerators : 1;
    if (ask_what_if && program.divided == 1 && code.others.empty()) {
      const bundle::MemorySpace& memory = bundle.spaces[static_cast<std::size_t>(code.space)];
      simulator::Dram dram{memory.base, bundle::initial_image(memory, code)};
      DOVETAIL_ASSIGN(program.what_if, simulator::what_if(code.config, options, code.program, code.launches, dram));
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

std::uint64_t cycles_of(const TimedProgram& program) {
  std::uint64_t cycles = 0;
  for (const simulator::LaunchTrace& launch : program.traces) cycles += launch.cycles;
  return cycles;
}

simulator::Trace trace_of(std::span<const TimedProgram> programs) {
  simulator::Trace trace;
  std::map<std::string, std::uint32_t> known{{"", 0}};
  for (const TimedProgram& program : programs) {
    std::vector<std::uint32_t> sources(program.program.size(), 0);
    for (const bundle::InstructionRange& range : program.ranges) {
      const auto [at, is_new] = known.try_emplace(range.name, static_cast<std::uint32_t>(trace.sources.size()));
      if (is_new) trace.sources.push_back(range.name);
      std::fill(sources.begin() + static_cast<std::ptrdiff_t>(range.begin),
                sources.begin() + static_cast<std::ptrdiff_t>(range.end), at->second);
    }
    for (simulator::LaunchTrace launch : program.traces) {
      for (simulator::TraceEvent& event : launch.events) event.source = sources[event.instruction];
      trace.launches.push_back(std::move(launch));
    }
  }
  return trace;
}

simulator::TracedProgram traced(const TimedProgram& program) {
  simulator::TracedProgram traced{.name = program.name,
                                  .config = program.config,
                                  .program = program.program,
                                  .launches = program.launches,
                                  .what_if = program.what_if,
                                  .useful_macs = {},
                                  .divided = program.divided,
                                  .ranges = {},
                                  .others = program.others,
                                  .accelerators = program.accelerators};
  for (const bundle::InstructionRange& range : program.ranges) {
    if (range.macs) traced.useful_macs[range.name] += *range.macs;
    if (program.divided > 1) traced.ranges.push_back({range.begin, range.end, range.name});
  }
  return traced;
}

simulator::Profile profile_of(const TimedProgram& program, const simulator::Trace& trace,
                              const simulator::MemorySpec& memory) {
  return simulator::profile(trace, 0, traced(program), memory);
}

}  // namespace dovetail::driver
