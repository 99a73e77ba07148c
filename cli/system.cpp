#include "cli/system.h"

#include <charconv>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "runtime/executor.h"

namespace dovetail::cli {

namespace {

// Of the two clocks, one in each form.
std::int64_t picoseconds(double mhz) { return std::llround(1e6 / mhz); }

Result<double> parse_clock(const std::string& text) {
  double mhz = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mhz);
  if (error == std::errc{} && end == text.data() + text.size() && mhz >= isa::kLeastClockMhz &&
      mhz <= isa::kMostClockMhz)
    return mhz;
  return Diagnostic{"bad value of --clock", text,
                    fmt::format("it is no number from {} to {}", isa::kLeastClockMhz, isa::kMostClockMhz),
                    "write MHz, as in --clock 333"};
}

bool states_clock(std::string_view memory) { return memory.find("clock-ps=") != std::string_view::npos; }

// The memory of a configuration, whose clock is written elsewhere in it.
Result<simulator::MemorySpec> configured_memory(const isa::SystemConfig& config, std::string_view from) {
  const std::string where = fmt::format("{}, \"system.memory\"", from);
  auto memory = simulator::parse_memory(config.memory);
  if (!memory.ok()) {
    Diagnostic error = memory.errors().front();
    error.where = fmt::format("{}: {}", where, error.where);
    return error;
  }
  auto* bank = std::get_if<simulator::BankMemory>(&*memory);
  if (states_clock(config.memory))
    return Diagnostic{"cannot read the memory model", where, "it states the accelerator's clock, as the system does",
                      "leave out clock-ps: clock_mhz is the clock"};
  if (config.memory_clock_mhz) {
    if (bank == nullptr)
      return Diagnostic{"cannot read the memory model", fmt::format("{}, \"system.memory_clock_mhz\"", from),
                        fmt::format("the memory {} has no clock of its own", config.memory),
                        "leave it out, or take a DRAM, as in bank:ddr4-2400"};
    bank->standard.clock_ps = picoseconds(*config.memory_clock_mhz);
  }
  return memory;
}

}  // namespace

void SystemArguments::declare(Options& options) {
  options.value("--clock", "MHZ", clock,
                "clock of the accelerator (default: the one of the configuration, 500 unless it says otherwise)");
  options.value(
      "--memory", "MODEL", memory,
      "the DRAM behind the accelerator (default: the one of the configuration):\n"
      "ideal:latency=64,bytes=8,outstanding=16 (bytes 0: a beat), bank:ddr4-2400|lpddr4|hbm2, perturbed:seed=7\n"
      "(docs/reference/memory-models.md)");
  options.value("--accelerators", "N", accelerators,
                "so many accelerators share the memory, each with a sample of its own (default: the number of the\n"
                "configuration, 1 unless it says otherwise; docs/howto/several-accelerators.md)");
}

Result<void> SystemArguments::check_engine(std::string_view engine, bool estimates) const {
  if (!runtime::has_clock(engine) && (memory || accelerators || (clock && !estimates)))
    return Diagnostic{"bad usage",
                      memory         ? "--memory"
                      : accelerators ? "--accelerators"
                                     : "--clock",
                      fmt::format("engine {} has no clock", engine), "add --engine cycle"};
  return {};
}

Result<System> resolve_system(const isa::SystemConfig& config, std::string_view from,
                              const SystemArguments& arguments) {
  System system{config.clock_mhz, std::string(from), {}, std::string(from), config.accelerators, std::string(from)};
  if (arguments.accelerators) {
    DOVETAIL_ASSIGN(system.accelerators,
                    parse_count("--accelerators", *arguments.accelerators, 1, isa::kMostAccelerators));
    system.accelerators_from = "--accelerators";
  }
  if (arguments.clock) {
    DOVETAIL_ASSIGN(system.clock_mhz, parse_clock(*arguments.clock));
    system.clock_from = "--clock";
  }
  if (!arguments.memory) {
    DOVETAIL_ASSIGN(system.memory, configured_memory(config, from));
  } else {
    DOVETAIL_ASSIGN(system.memory, simulator::parse_memory(*arguments.memory));
    system.memory_from = "--memory";
  }
  auto* bank = std::get_if<simulator::BankMemory>(&system.memory);
  if (bank == nullptr) return system;
  if (!arguments.memory || !states_clock(*arguments.memory)) {
    bank->clock_ps = picoseconds(system.clock_mhz);
  } else if (!arguments.clock) {
    system.clock_mhz = 1e6 / static_cast<double>(bank->clock_ps);
    system.clock_from = "--memory";
  } else if (bank->clock_ps != picoseconds(system.clock_mhz)) {
    return Diagnostic{"bad usage", "--memory",
                      fmt::format("its clock-ps={} is a clock of {:.6g} MHz, --clock asks for {:.6g} MHz",
                                  bank->clock_ps, 1e6 / static_cast<double>(bank->clock_ps), system.clock_mhz),
                      "leave out clock-ps"};
  }
  return system;
}

Result<void> refuse_several(const System& system, std::string_view what) {
  if (system.accelerators == 1) return {};
  return Diagnostic{
      "bad usage", std::string(what),
      fmt::format("it looks into one accelerator, and {} asks for {}", system.accelerators_from, system.accelerators),
      "add --accelerators 1"};
}

isa::SystemConfig config_of(const System& system) {
  isa::SystemConfig config{system.clock_mhz, simulator::to_string(system.memory)};
  // The clock is written once.
  if (const std::size_t begin = config.memory.find("clock-ps="); begin != std::string::npos)
    config.memory.erase(begin, config.memory.find(',', begin) + 1 - begin);
  config.accelerators = system.accelerators;
  return config;
}

std::string system_text(const System& system) {
  std::string text = fmt::format("clock         {:.6g} MHz ({})\nmemory        {} ({})\n", system.clock_mhz,
                                 system.clock_from, simulator::to_string(system.memory), system.memory_from);
  if (system.accelerators > 1)
    text += fmt::format("accelerators  {} that share the memory, each with a sample of its own ({})\n",
                        system.accelerators, system.accelerators_from);
  return text;
}

Json to_json(const System& system) {
  Json json{{"clock_mhz", system.clock_mhz},
            {"clock_from", system.clock_from},
            {"memory", simulator::to_string(system.memory)},
            {"memory_from", system.memory_from}};
  if (system.accelerators > 1)
    json.update({{"accelerators", system.accelerators}, {"accelerators_from", system.accelerators_from}});
  return json;
}

}  // namespace dovetail::cli
