// The cycle simulator as the compiler's counter of cycles (compiler/target/accel/counting.h).
#pragma once

#include "compiler/target/accel/counting.h"
#include "simulator/memory/memory.h"

namespace dovetail::explore {

// Time alone, with that memory.
accel::CountCycles cycle_counter(const simulator::MemorySpec& memory);

}  // namespace dovetail::explore
