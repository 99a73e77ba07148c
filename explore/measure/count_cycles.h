// Lets the compiler count cycles with the cycle simulator (compiler/target/accel/counting.h).
#pragma once

#include "compiler/target/accel/counting.h"
#include "simulator/memory/memory.h"

namespace dovetail::explore {

// Simulates only the timing, with this memory.
accel::CountCycles cycle_counter(const simulator::MemorySpec& memory);

}  // namespace dovetail::explore
