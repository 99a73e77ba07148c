// What turns cycles into seconds: the clock, the memory and how many accelerators share it, of the hardware's JSON
// (isa/system.h), unless anyone who runs it says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "isa/system.h"
#include "simulator/memory/memory.h"

namespace dovetail::driver {

// What replaces the configuration's own.
struct SystemChanges {
  std::optional<double> clock_mhz = {};           // isa::kLeastClockMhz to isa::kMostClockMhz
  std::optional<std::string> memory = {};         // as isa::SystemConfig::memory
  std::optional<std::int64_t> accelerators = {};  // 1 to isa::kMostAccelerators
};

struct System {
  double clock_mhz = 0;
  std::string clock_from;  // what says so: the name of a configuration, or an option
  simulator::MemorySpec memory;
  std::string memory_from;
  std::int64_t accelerators = 1;  // that share the memory, each with its own sample
  std::string accelerators_from = {};

  double seconds(std::uint64_t cycles) const { return static_cast<double>(cycles) / (clock_mhz * 1e6); }
};

// Error: a clock out of range; `given` is what was written.
Result<void> check_clock(double mhz, std::string_view given);

// `from`: the configuration's name. The accelerator's clock is written once: a DRAM model counts with it, and one that
// states another (`clock-ps`) is an error, unless the changed memory alone states it and so sets the clock.
Result<System> resolve_system(const isa::SystemConfig& config, std::string_view from, const SystemChanges& changes);

// Error: several accelerators, where `what` looks into one.
Result<void> refuse_several(const System& system, std::string_view what);

// What a bundle remembers of it.
isa::SystemConfig config_of(const System& system);

}  // namespace dovetail::driver
