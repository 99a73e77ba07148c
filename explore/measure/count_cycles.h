// Lets the compiler count cycles with the cycle simulator (compiler/target/accel/counting.h).
#pragma once

#include <cstdint>

#include "compiler/target/accel/counting.h"
#include "simulator/memory/memory.h"

namespace dovetail::explore {

// Simulates only the timing, with this memory; each launch on its accelerator.
accel::CountCycles cycle_counter(const simulator::MemorySpec& memory, std::int64_t accelerators = 1);

}  // namespace dovetail::explore
