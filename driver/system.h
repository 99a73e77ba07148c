// The system that turns cycles into seconds: the clock, the memory and the number of accelerators that share it. They
// come from the hardware's JSON (isa/system.h), unless options replace them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/system.h"
#include "simulator/memory/memory.h"

namespace dovetail::driver {

// Values that replace those of the configuration.
struct SystemChanges {
  std::optional<double> clock_mhz = {};  // isa::kLeastClockMhz to isa::kMostClockMhz
  // The clock is that of a model, by name: with_clock_model() (driver/design_clock.h) gives clock_mhz its value.
  std::string clock_model = {};
  std::string clock_from = "--clock";             // origin of clock_mhz
  bool clock_is_modeled = false;                  // clock_mhz is a model's
  std::optional<std::string> memory = {};         // as isa::SystemConfig::memory
  std::optional<std::int64_t> accelerators = {};  // 1 to isa::kMostAccelerators
  std::optional<isa::Split> split = {};
  double level_ps = 0;  // System::level_ps
  // Not timed: the memory has no effect, so that a DRAM file of the configuration may be missing.
  bool timed = true;
};

struct System {
  double clock_mhz = 0;
  std::string clock_from;  // origin of the clock: the name of a configuration, or an option
  simulator::MemorySpec memory;
  std::string memory_from;
  std::int64_t accelerators = 1;  // accelerators that share the memory
  std::string accelerators_from = {};
  isa::Split split = isa::Split::samples;  // what they divide
  // The configurations of all accelerators after the first, where they differ (isa::SystemConfig::others).
  std::vector<isa::HardwareConfig> others = {};
  double level_ps = 0;  // the delay of a level of logic, for the clock of the design; 0: that of the kit's technology
  bool clock_is_modeled = false;  // by the model that clock_from describes

  // Whether several accelerators work on one sample.
  bool divides_samples() const { return accelerators > 1 && split != isa::Split::samples; }
  // Samples that run at once.
  std::int64_t samples() const { return divides_samples() ? 1 : accelerators; }
  double seconds(std::uint64_t cycles) const { return static_cast<double>(cycles) / (clock_mhz * 1e6); }
};

// Error: a clock out of range; `given` is the text that the user wrote.
Result<void> check_clock(double mhz, std::string_view given);

// `from`: the configuration's name. The accelerator's clock, which a DRAM model also uses, is set in one place: another
// clock in the model (`clock-ps`) is an error, unless only the memory is changed, whose clock then applies.
Result<System> resolve_system(const isa::SystemConfig& config, std::string_view from, const SystemChanges& changes);

// Error: there are several accelerators, but the feature `what` shows only one.
Result<void> refuse_several(const System& system, std::string_view what);

// The part of the system that a bundle records, with the absolute path and the hash of a DRAM file.
isa::SystemConfig config_of(const System& system);

}  // namespace dovetail::driver
