// What an engine takes besides the hardware configuration. Those without a clock take `work` alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/work.h"
#include "isa/config.h"
#include "simulator/memory/memory.h"

namespace dovetail::simulator {

struct EngineOptions {
  MemorySpec memory = IdealMemory{};
  // So many accelerators share the memory, each with its own sample: every launch begins on all of them at once,
  // and ends with the last. Engines cycle and systemc; one without a clock has nothing to do with it.
  std::int64_t accelerators = 1;
  bool trace = false;                                        // keep the events of every launch
  std::optional<std::uint64_t> program_base = std::nullopt;  // default: program_place()
  std::optional<std::filesystem::path> waves =
      std::nullopt;        // engine rtl: writes an FST file there; of a second power-up, alongside it, as W-run2.fst
  bool assertions = true;  // engine rtl: stop where the design breaks its own rule (hw/sva); it runs slower
  // Engine rtl: builds the Verilated model that is not there, and calls this with each step; null: that is an error.
  std::function<void(std::string_view step)> build_missing = nullptr;
  // What every engine counts its steps for, and stops with; outlives the simulator. Null: nobody watches.
  Work* work = nullptr;
};

// Where the waveforms of the number-th simulator of one run go, from 0 on: W.fst, W-1.fst, W-2.fst. Each region of a
// model has its own simulator.
std::filesystem::path waves_file(const std::filesystem::path& waves, std::size_t number);

// Whether instructions [begin, begin + count) of a program at `program_base` end within the address space and are
// shorter than it: what the design asks of a launch before it fetches.
bool fits_address_space(const isa::HardwareConfig& config, std::uint64_t program_base, std::uint64_t begin,
                        std::uint64_t count);
// Precondition: they do not.
Diagnostic outside_address_space(const isa::HardwareConfig& config, std::uint64_t program_base, std::uint64_t begin,
                                 std::uint64_t count);

// Where engines that fetch put the program: at the first 4 KiB boundary after the image, or, where the address space
// ends before `program_bytes` more, at the last one before it. `program_bytes` counts from instruction 0 to the last of
// the launch. Error: no room in either place.
Result<std::uint64_t> program_place(const isa::HardwareConfig& config, std::uint64_t image_base,
                                    std::uint64_t image_bytes, std::uint64_t program_bytes);

// Several accelerators: each has a window of the memory for a program and its own image, at the same addresses
// within it. The bytes from one window to the next: whole pages, with one between them, for a launch whose program ends
// after `program_bytes`. The same for an image that begins up to 63 bytes before one at a multiple of 64.
std::uint64_t window_bytes(std::uint64_t image_base, std::uint64_t image_bytes, std::uint64_t program_base,
                           std::uint64_t program_bytes);

}  // namespace dovetail::simulator
