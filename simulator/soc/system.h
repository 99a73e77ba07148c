// Runs firmware on a system on chip: PicoRV32 or its model, RAM, serial line, timer, and an accelerator with its
// memory and interrupt (memory_map.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/work.h"
#include "isa/config.h"
#include "simulator/memory/memory.h"

namespace dovetail::simulator::soc {

struct SystemOptions {
  isa::HardwareConfig config;
  MemorySpec memory = IdealMemory{};  // times of the accelerator's memory, from cycle 0 of each launch
  std::uint64_t memory_bytes = 0;     // its size; accesses beyond it are answered with SLVERR
  std::uint64_t limit_cycles = 0;     // the run is ended after so many
  // From the first launch on, the beat with this address is answered with SLVERR.
  std::optional<std::uint64_t> broken = {};
  // What firmware is sent over the serial line, a byte each time that it asks (kAskForInput).
  std::string serial_input = {};
  bool assertions = false;                          // of the design; ignored by the model in SystemC
  std::optional<std::filesystem::path> waves = {};  // likewise
  Work* work = nullptr;                             // may stop the run
};

struct SystemRun {
  enum class End : std::uint8_t {
    ended,    // by the byte kEndOfRun
    limit,    // after SystemOptions::limit_cycles
    trap,     // the processor stopped
    stopped,  // by SystemOptions::work
  };
  End end = End::ended;
  std::uint64_t cycles = 0;   // since reset
  std::uint64_t waiting = 0;  // of these, those in which the processor waited for an interrupt
  std::string serial;         // what came over the serial line, without the bytes of kEndOfRun and kAskForInput
};

// On the Verilated design in the file `model`. Preconditions: firmware is at most kRamBytes long; memory_bytes is at
// most the memory's window, and 2^address_bits. Errors: the model cannot be loaded; an assertion of the design fails.
Result<SystemRun> run_verilated(std::span<const std::byte> firmware, const std::filesystem::path& model,
                                const SystemOptions& options);

// The same on a loosely timed model in SystemC, whose launches have the same cycles. Its processor is an interpreter
// (rv32.h): times outside of launches are approximations. Error: this kit has no SystemC.
Result<SystemRun> run_systemc(std::span<const std::byte> firmware, const SystemOptions& options);

// The path of picorv32.v: DOVETAIL_PICORV32, or that of Python's package pythondata-cpu-picorv32. Error: there is none.
Result<std::filesystem::path> find_core();

}  // namespace dovetail::simulator::soc
