// What a run would have cost on a chip: the energy of the accelerator's steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "bundle/bundle.h"
#include "driver/system.h"
#include "explore/energy/energy.h"
#include "runtime/executor.h"

namespace dovetail::driver {

// The size of the design's logic: of the named configurations from synthesis, of others by the model of the area.
std::optional<explore::LogicSize> logic_size(const isa::HardwareConfig& config);

struct EnergyFacts {
  explore::Energy energy;
  std::uint64_t macs = 0;  // executed, by all accelerators

  EnergyFacts& operator+=(const EnergyFacts& other);
};
EnergyFacts energy_facts(const simulator::Counters& counters, const isa::HardwareConfig& config,
                         const simulator::MemorySpec& memory, const std::optional<explore::RunTime>& time,
                         const explore::EnergyTable& table);
// Of the accelerator's steps of a run, together; empty: it has none.
Result<std::optional<EnergyFacts>> energy_facts(const bundle::Bundle& bundle,
                                                std::span<const runtime::StepProfile> steps, const System& system,
                                                const explore::EnergyTable& table);

}  // namespace dovetail::driver
