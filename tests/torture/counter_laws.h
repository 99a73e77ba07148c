// Laws that the counters of every completed launch satisfy, for any program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "isa/config.h"
#include "simulator/counters.h"
#include "simulator/memory/memory.h"

namespace dovetail::test {

// Returns the law that an engine with a clock breaks, with its numbers. `cycles`: those of the launch; empty where no
// memory model timed it, so that there is no DRAM either.
std::optional<std::string> broken_law(const isa::HardwareConfig& config, const simulator::MemorySpec& memory,
                                      const simulator::Counters& counters, std::optional<std::uint64_t> cycles);

}  // namespace dovetail::test
