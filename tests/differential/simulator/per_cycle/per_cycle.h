// docs/reference/timing.md, transcribed cycle by cycle: every queue, channel and unit is evaluated in every cycle.
// Slow, and written only to be read alongside that page; the event-driven simulator and the RTL must give the same
// times.
#pragma once

#include <cstdint>
#include <span>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "simulator/memory/memory.h"
#include "simulator/trace/trace.h"

namespace dovetail::test {

// Runs one launch. `memory` is reset first. `uops` is the micro-op memory: it holds the contents left by earlier
// launches, and loads from `image` change it. A launch that deadlocks has `cycles` 0.
simulator::LaunchTrace run_per_cycle(const isa::HardwareConfig& config, simulator::Memory& memory,
                                     std::span<const isa::Instruction> program, std::size_t first_index,
                                     std::uint64_t program_address, const isa::DramImage& image,
                                     std::vector<isa::Uop>& uops);

}  // namespace dovetail::test
