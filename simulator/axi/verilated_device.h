// The Verilated design in place of a board: its registers through its AXI4-Lite port, its interrupt line, and a memory
// at its AXI4 port. As on many boards, caches are not coherent: the design sees what the processor wrote only after
// clean(), and the processor what the design wrote only after invalidate().
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "isa/config.h"
#include "simulator/axi/device.h"
#include "simulator/engine_options.h"

namespace dovetail::simulator {

struct VerilatedDeviceOptions {
  EngineOptions engine = {};                        // the memory's times, and whether a missing model is built
  std::optional<std::filesystem::path> model = {};  // default: as make_rtl() finds it
  std::uint64_t bytes = std::uint64_t{64} << 20;    // at most half of the address space, whose upper half it begins
};

// Errors: as make_rtl().
Result<std::unique_ptr<AxiDevice>> make_verilated_device(const isa::HardwareConfig& config,
                                                         const VerilatedDeviceOptions& options = {});

}  // namespace dovetail::simulator
