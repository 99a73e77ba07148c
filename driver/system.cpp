#include "driver/system.h"

#include <string>
#include <variant>

#include <fmt/format.h>

#include "simulator/memory/system_memory.h"

namespace dovetail::driver {

namespace {

bool states_clock(std::string_view memory) { return memory.find("clock-ps=") != std::string_view::npos; }

bool names_dram_file(std::string_view memory) {
  return memory.starts_with("bank:") && simulator::is_dram_file(memory.substr(5, memory.find(',') - 5));
}

// The memory of a configuration; errors name the configuration.
Result<simulator::MemorySpec> configured_memory(const isa::SystemConfig& config, std::string_view from) {
  auto memory = simulator::system_memory(config);
  if (memory.ok()) return memory;
  Diagnostics errors = memory.errors();
  for (Diagnostic& error : errors) error.where = fmt::format("{}, {}", from, error.where);
  return errors;
}

}  // namespace

Result<void> check_clock(double mhz, std::string_view given) {
  if (mhz >= isa::kLeastClockMhz && mhz <= isa::kMostClockMhz) return {};
  return Diagnostic{"invalid value for --clock", std::string(given),
                    fmt::format("the clock must be a number from {} to {}", isa::kLeastClockMhz, isa::kMostClockMhz),
                    "write MHz, for example --clock 333"};
}

Result<System> resolve_system(const isa::SystemConfig& config, std::string_view from, const SystemChanges& changes) {
  if (!changes.clock_model.empty() && !changes.clock_mhz)
    return Diagnostic{"bad usage", fmt::format("--clock {}", changes.clock_model),
                      "the clock model needs a configuration, and none is known here", "write MHz"};
  System system{config.clock_mhz, std::string(from), {}, std::string(from), config.accelerators, std::string(from)};
  system.split = changes.split.value_or(config.split);
  system.others = config.others;
  const bool differ = !config.others.empty();
  if (differ && (changes.accelerators || system.split != isa::Split::layers))
    return Diagnostic{
        "bad usage", changes.accelerators ? "--accelerators" : std::string(isa::name(system.split)),
        fmt::format("{} names {} accelerators that differ, which divide layers", from, config.accelerators),
        changes.accelerators ? "remove --accelerators" : "leave it out"};
  if (changes.accelerators) {
    system.accelerators = *changes.accelerators;
    system.accelerators_from = "--accelerators";
    if (system.accelerators < 1 || system.accelerators > isa::kMostAccelerators)
      return Diagnostic{"invalid value for --accelerators", std::to_string(system.accelerators),
                        fmt::format("the number must be an integer from 1 to {}", isa::kMostAccelerators),
                        "write the number in decimal digits"};
  }
  if (changes.clock_mhz) {
    DOVETAIL_TRY(check_clock(*changes.clock_mhz, fmt::format("{}", *changes.clock_mhz)));
    system.clock_mhz = *changes.clock_mhz;
    system.clock_from = changes.clock_from;
    system.clock_is_modeled = changes.clock_is_modeled;
  }
  if (!changes.memory) {
    auto memory = configured_memory(config, from);
    if (memory.ok()) {
      system.memory = *std::move(memory);
    } else if (!changes.timed && names_dram_file(config.memory)) {
      system.memory = simulator::IdealMemory{};
      system.memory_from = fmt::format("instead of {}, which cannot be read: the engine has no clock", config.memory);
    } else {
      return memory.errors();
    }
  } else {
    DOVETAIL_ASSIGN(system.memory, simulator::parse_memory(*changes.memory));
    system.memory_from = "--memory";
    // The clock was chosen for the configuration's memory.
    const auto* given = std::get_if<simulator::BankMemory>(&system.memory);
    if (given != nullptr && config.memory_clock_mhz && !simulator::states_dram_clock(*changes.memory))
      return Diagnostic{
          "bad usage", fmt::format("--memory {}", *changes.memory),
          fmt::format("{} sets memory_clock_mhz {:g} for the memory {}, which --memory replaces: the clock of the new "
                      "DRAM is not clear",
                      from, *config.memory_clock_mhz, config.memory),
          fmt::format("add dram-ps={} to --memory for {:g} MHz, or dram-ps={} for the clock of the DRAM's standard",
                      simulator::picoseconds_of(*config.memory_clock_mhz), *config.memory_clock_mhz,
                      given->standard.nominal_clock_ps)};
  }
  system.level_ps = changes.level_ps;
  auto* bank = std::get_if<simulator::BankMemory>(&system.memory);
  if (bank == nullptr) return system;
  if (!changes.memory || !states_clock(*changes.memory)) {
    bank->clock_ps = simulator::picoseconds_of(system.clock_mhz);
  } else if (!changes.clock_mhz) {
    system.clock_mhz = 1e6 / static_cast<double>(bank->clock_ps);
    system.clock_from = "--memory";
  } else if (bank->clock_ps != simulator::picoseconds_of(system.clock_mhz)) {
    return Diagnostic{"bad usage", "--memory",
                      fmt::format("clock-ps={} means {:.6g} MHz, but --clock is {:.6g} MHz", bank->clock_ps,
                                  1e6 / static_cast<double>(bank->clock_ps), system.clock_mhz),
                      "remove clock-ps"};
  }
  return system;
}

Result<void> refuse_several(const System& system, std::string_view what) {
  if (system.accelerators == 1) return {};
  return Diagnostic{
      "bad usage", std::string(what),
      fmt::format("the option shows one accelerator, but {} sets {}", system.accelerators_from, system.accelerators),
      system.others.empty() ? "add --accelerators 1" : "name one configuration"};
}

isa::SystemConfig config_of(const System& system) {
  isa::SystemConfig config{system.clock_mhz, simulator::to_string(simulator::with_absolute_file(system.memory))};
  // The clock is stored once.
  if (const std::size_t begin = config.memory.find("clock-ps="); begin != std::string::npos)
    config.memory.erase(begin, config.memory.find(',', begin) + 1 - begin);
  config.accelerators = system.accelerators;
  config.split = system.split;
  config.others = system.others;
  return config;
}

}  // namespace dovetail::driver
