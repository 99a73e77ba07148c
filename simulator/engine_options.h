// The options of an engine in addition to the hardware configuration. Engines without a clock use only `work`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "isa/config.h"
#include "simulator/memory/memory.h"

namespace dovetail::simulator {

struct EngineOptions {
  MemorySpec memory = IdealMemory{};
  // The number of accelerators that share the memory, each processing its own sample: every launch begins on all of
  // them at once, and ends with the last. For engines cycle and systemc; ignored by engines without a clock.
  std::int64_t accelerators = 1;
  // They run the launches of one sample instead, each launch on its accelerator (isa::Launch).
  bool by_launch = false;
  // The configurations of all accelerators after the first, where they differ; empty: all have one.
  std::vector<isa::HardwareConfig> others = {};
  bool trace = false;                                        // keep the events of every launch
  std::optional<std::uint64_t> program_base = std::nullopt;  // default: program_place()
  std::optional<std::filesystem::path> waves =
      std::nullopt;        // engine rtl: writes an FST file there; for a second power-up W-run2.fst in the same folder
  bool assertions = true;  // engine rtl: stop if the design violates one of its assertions (hw/sva); slower
  // Engine rtl: builds a missing Verilated model, and calls this with each step; null: a missing model is an error.
  std::function<void(std::string_view step)> build_missing = nullptr;
  // Counts the steps that the engine simulates, and may stop it; outlives the simulator. Null: not observed.
  Work* work = nullptr;
};

// The waveform file of simulator `number` (from 0) of one run: W.fst, W-1.fst, W-2.fst. Each region of a model
// has its own simulator.
std::filesystem::path waves_file(const std::filesystem::path& waves, std::size_t number);

// Whether instructions [begin, begin + count) of a program at `program_base` end within the address space and are
// shorter than it: the design's requirement for a launch.
bool fits_address_space(const isa::HardwareConfig& config, std::uint64_t program_base, std::uint64_t begin,
                        std::uint64_t count);
// The error if they do not.
Diagnostic outside_address_space(const isa::HardwareConfig& config, std::uint64_t program_base, std::uint64_t begin,
                                 std::uint64_t count);

// The address at which engines that fetch put the program: the first 4 KiB boundary after the image, or, if the address
// space ends before `program_bytes` more, the last one before it. `program_bytes` counts from instruction 0 to the last
// of the launch. Error: no room in either place.
Result<std::uint64_t> program_place(const isa::HardwareConfig& config, std::uint64_t image_base,
                                    std::uint64_t image_bytes, std::uint64_t program_bytes);

// Several accelerators: each has its own memory window for a program and an image, at the same addresses within it. The
// bytes from one window to the next: whole pages, with one between them, for a launch whose program ends within
// `program_bytes`. The result is the same for an image that begins up to 63 bytes before a multiple of 64.
std::uint64_t window_bytes(std::uint64_t image_base, std::uint64_t image_bytes, std::uint64_t program_base,
                           std::uint64_t program_bytes);

}  // namespace dovetail::simulator
