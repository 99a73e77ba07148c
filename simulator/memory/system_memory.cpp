#include "simulator/memory/system_memory.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace dovetail::simulator {

namespace {

constexpr std::string_view kDoes = "cannot read the memory model";

}  // namespace

Result<MemorySpec> system_memory(const isa::SystemConfig& system) {
  auto memory = parse_memory(system.memory);
  if (!memory.ok()) {
    Diagnostics errors = memory.errors();
    for (Diagnostic& error : errors) error.where = fmt::format("\"system.memory\": {}", error.where);
    return errors;
  }
  if (system.memory.find("clock-ps=") != std::string::npos)
    return Diagnostic{std::string(kDoes), "\"system.memory\"",
                      "the memory model sets the accelerator's clock, but the system does too",
                      "remove clock-ps, since clock_mhz sets the clock"};
  if (!system.memory_clock_mhz) return memory;
  auto* bank = std::get_if<BankMemory>(&*memory);
  if (bank == nullptr)
    return Diagnostic{std::string(kDoes), "\"system.memory_clock_mhz\"",
                      fmt::format("the memory {} has no separate clock", system.memory),
                      "leave it out, or use a DRAM, for example bank:ddr4-2400"};
  if (states_dram_clock(system.memory))
    return Diagnostic{std::string(kDoes), "\"system.memory\"",
                      fmt::format("the memory model sets the DRAM's clock, but memory_clock_mhz {:g} does too",
                                  *system.memory_clock_mhz),
                      "remove dram-ps, or leave out memory_clock_mhz"};
  bank->standard.clock_ps = picoseconds_of(*system.memory_clock_mhz);
  return memory;
}

std::string memory_identity(const std::string& memory) {
  auto spec = parse_memory(memory);
  if (!spec.ok()) return memory;
  auto* bank = std::get_if<BankMemory>(&*spec);
  if (bank == nullptr || bank->standard.file.empty()) return memory;
  bank->standard.file = "file";
  return to_string(*spec);
}

bool states_dram_clock(std::string_view memory) { return memory.find("dram-ps=") != std::string_view::npos; }

std::int64_t picoseconds_of(double mhz) { return std::llround(1e6 / mhz); }

}  // namespace dovetail::simulator
