#include "driver/energy.h"

#include <algorithm>

#include <fmt/format.h>

#include "bundle/code/accel.h"
#include "explore/area/area_model.h"

namespace dovetail::driver {

std::optional<explore::LogicSize> logic_size(const isa::HardwareConfig& config) {
  const auto model = explore::AreaModel::of_kit();
  if (!model.ok()) return std::nullopt;
  const explore::AreaEstimate estimate = model->estimate(config);
  return explore::LogicSize{estimate.gates, estimate.flip_flops};
}

explore::RunTime run_time(std::uint64_t cycles, const System& system) {
  return {cycles, system.clock_mhz * 1e6, system.accelerators, !system.divides_samples()};
}

EnergyFacts& EnergyFacts::operator+=(const EnergyFacts& other) {
  energy += other.energy;
  macs += other.macs;
  useful_macs = useful_macs && other.useful_macs ? std::optional(*useful_macs + *other.useful_macs) : std::nullopt;
  return *this;
}

namespace {

// The energy of accelerators that differ.
EnergyFacts energy_of_each(const bundle::AccelCode& code, const runtime::StepProfile& run, const System& system,
                           const std::optional<explore::RunTime>& time, const explore::EnergyTable& table) {
  const isa::AcceleratorConfigs configs = code.configs();
  std::vector<explore::AcceleratorWork> each;
  for (std::size_t i = 0; i < run.by_accelerator.size(); ++i)
    each.push_back({run.by_accelerator[i], configs[i], time ? logic_size(configs[i]) : std::nullopt});
  return {explore::energy_of_each(each, run.counters, system.memory, time, table), run.counters.macs};
}

}  // namespace

EnergyFacts energy_facts(const simulator::Counters& counters, const isa::HardwareConfig& config,
                         const simulator::MemorySpec& memory, const std::optional<explore::RunTime>& time,
                         const explore::EnergyTable& table) {
  return {energy_of(counters, config, memory, time, table, time ? logic_size(config) : std::nullopt),
          counters.macs * static_cast<std::uint64_t>(time ? time->samples() : 1)};
}

Result<std::optional<EnergyFacts>> energy_facts(const bundle::Bundle& bundle,
                                                std::span<const runtime::StepProfile> steps, const System& system,
                                                const explore::EnergyTable& table) {
  DOVETAIL_ASSIGN(const auto accelerated, bundle::accel_steps(bundle));
  std::optional<EnergyFacts> sum;
  for (const auto& [index, step, code] : accelerated) {
    const runtime::StepProfile& run = steps[index];
    if (run.runs == 0) continue;
    std::optional<explore::RunTime> time;
    if (!run.launches.empty()) {
      time = run_time(0, system);
      for (const runtime::TimedLaunch& launch : run.launches) time->cycles += launch.trace.cycles;
    }
    EnergyFacts facts = code.others.empty() ? energy_facts(run.counters, code.config, system.memory, time, table)
                                            : energy_of_each(code, run, system, time, table);
    if (std::ranges::any_of(code.ranges, [](const bundle::InstructionRange& range) { return range.macs.has_value(); }))
      facts.useful_macs = 0;
    for (const bundle::InstructionRange& range : code.ranges)
      if (range.macs)
        *facts.useful_macs += *range.macs * run.runs * static_cast<std::uint64_t>(time ? time->samples() : 1);
    if (sum) *sum += facts;
    else sum = facts;
  }
  for (std::size_t s = 0; s < bundle.steps.size(); ++s)
    for (std::size_t p = 0; p < std::min(bundle.steps[s].programs.size(), steps[s].programs.size()); ++p) {
      DOVETAIL_ASSIGN(const auto inner, energy_facts(bundle.steps[s].programs[p], steps[s].programs[p], system, table));
      if (inner && sum) *sum += *inner;
      else if (inner) sum = inner;
    }
  return sum;
}

namespace {

simulator::Counters with_others(simulator::Counters counters, const simulator::Counters& others) {
  counters += others;
  return counters;
}

}  // namespace

std::vector<double> layer_joules(const TimedProgram& program, const System& system, const explore::EnergyTable& table) {
  if (!program.others.empty()) return {};
  const explore::RunTime time = run_time(cycles_of(program), system);
  const auto logic = logic_size(program.config);
  const explore::Energy whole = energy_of(program.counters, program.config, system.memory, time, table, logic);
  std::vector<explore::RunPart> parts;
  for (const simulator::ProfilePart& layer :
       profile_of(program, trace_of(std::span(&program, 1)), system.memory).layers)
    parts.push_back({layer.cycles, with_others(layer.counters, layer.others)});
  return split_energy(whole, parts, program.config, system.memory, time, table, logic);
}

}  // namespace dovetail::driver
