// What holds of the counters of every launch that completes, whatever its program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "isa/config.h"
#include "simulator/counters.h"
#include "simulator/memory/memory.h"

namespace dovetail::test {

// The law that an engine with a clock breaks, with its numbers. `cycles`: of the launch; empty where no memory model
// timed it, so that there is no DRAM either.
std::optional<std::string> broken_law(const isa::HardwareConfig& config, const simulator::MemorySpec& memory,
                                      const simulator::Counters& counters, std::optional<std::uint64_t> cycles);

}  // namespace dovetail::test
