// What turns cycles into seconds: the clock, the memory and how many accelerators share it, of the hardware's JSON
// (isa/system.h), unless --clock, --memory and --accelerators say otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cli/options.h"
#include "isa/system.h"
#include "simulator/memory/memory.h"

namespace dovetail::cli {

// --clock, --memory and --accelerators.
struct SystemArguments {
  std::optional<std::string> clock, memory, accelerators = std::nullopt;

  void declare(Options& options);
  // Error: one of them that `engine`, which has no clock, would ignore. `estimates`: the command makes estimates of
  // time, for which --clock counts whatever the engine.
  Result<void> check_engine(std::string_view engine, bool estimates) const;
};

struct System {
  double clock_mhz = 0;
  std::string clock_from;  // what says so: the name of a configuration, or an option
  simulator::MemorySpec memory;
  std::string memory_from;
  std::int64_t accelerators = 1;  // that share the memory, each with a sample of its own
  std::string accelerators_from = {};

  double seconds(std::uint64_t cycles) const { return static_cast<double>(cycles) / (clock_mhz * 1e6); }
};

// `from`: the configuration's name. The accelerator's clock is written once: a DRAM model counts with it, and one that
// states another (`clock-ps`) is an error, unless --memory alone states it and so sets the clock.
Result<System> resolve_system(const isa::SystemConfig& config, std::string_view from, const SystemArguments& arguments);

// Error: several accelerators, where `what` looks into one.
Result<void> refuse_several(const System& system, std::string_view what);

// What a bundle remembers of it.
isa::SystemConfig config_of(const System& system);

// The lines "clock" and "memory" of a report, and "accelerators" where there are several, each with what says so.
std::string system_text(const System& system);
// {"clock_mhz", "clock_from", "memory", "memory_from"}, with "accelerators" and "accelerators_from" where there are
// several
Json to_json(const System& system);

}  // namespace dovetail::cli
