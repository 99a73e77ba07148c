// The memory of a system (isa/system.h), with its own clock if the system sets one.
#pragma once

#include "base/result.h"
#include "isa/system.h"
#include "simulator/memory/memory.h"

namespace dovetail::simulator {

// The accelerator's clock in a DRAM model is left to the caller. Errors, which name the member: those of
// parse_memory(); a clock that the memory model sets too; a clock of a memory that has none.
Result<MemorySpec> system_memory(const isa::SystemConfig& system);

// A text that is equal for equal memories: of a DRAM file it has the hash of the numbers, but not the path. A memory
// that cannot be read is returned unchanged.
std::string memory_identity(const std::string& memory);

// Whether the text of a memory sets the clock of its DRAM.
bool states_dram_clock(std::string_view memory);
// As the models count it.
std::int64_t picoseconds_of(double mhz);

}  // namespace dovetail::simulator
