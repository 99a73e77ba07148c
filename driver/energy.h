// The energy that the accelerator's steps of a run would use on a chip.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "driver/system.h"
#include "driver/timed_program.h"
#include "explore/energy/energy.h"
#include "runtime/executor.h"

namespace dovetail::driver {

// The size of the design's logic by the area model, with which a sweep reports the same energy. nullopt: the kit's
// hardware folder is missing.
std::optional<explore::LogicSize> logic_size(const isa::HardwareConfig& config);

// The duration of a run of the system's accelerators.
explore::RunTime run_time(std::uint64_t cycles, const System& system);

struct EnergyFacts {
  explore::Energy energy;
  std::uint64_t macs = 0;                         // executed by all accelerators, padding to blocks and batch included
  std::optional<std::uint64_t> useful_macs = {};  // those of the model; empty: the program is not of a model

  EnergyFacts& operator+=(const EnergyFacts& other);
};
EnergyFacts energy_facts(const simulator::Counters& counters, const isa::HardwareConfig& config,
                         const simulator::MemorySpec& memory, const std::optional<explore::RunTime>& time,
                         const explore::EnergyTable& table);
// The energy of all accelerator steps of a run; nullopt without such steps.
Result<std::optional<EnergyFacts>> energy_facts(const bundle::Bundle& bundle,
                                                std::span<const runtime::StepProfile> steps, const System& system,
                                                const explore::EnergyTable& table);
// TimedProgram::layer_joules of a program that ran on this system.
std::vector<double> layer_joules(const TimedProgram& program, const System& system, const explore::EnergyTable& table);

}  // namespace dovetail::driver
