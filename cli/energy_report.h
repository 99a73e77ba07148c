// What a run would have cost on a chip: the option --energy, and the energy of the accelerator's steps for people and
// for machines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "cli/options.h"
#include "cli/timing.h"
#include "explore/energy/energy.h"
#include "runtime/executor.h"

namespace dovetail::cli {

struct EnergyArguments {
  std::optional<std::string> file;

  void declare(Options& options);
  // The kit's table, with the file's rows over it.
  Result<explore::EnergyTable> table() const;
};

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

std::string joules_text(double joules);  // "12.3 uJ"
// The lines "energy" with a table of the components, and what is missing; ends with '\n'.
std::string energy_text(const EnergyFacts& facts);
// to_json(Energy) with "macs" and "pj_per_mac", on the chip and in all; null: there is none
Json energy_json(const std::optional<EnergyFacts>& facts);

}  // namespace dovetail::cli
