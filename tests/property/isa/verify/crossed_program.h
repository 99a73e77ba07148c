// Programs in which a unit takes instructions while an earlier one waits to push: two neighboring queues each push more
// tokens than their FIFO holds before they pop those of the other. They end only if the unit of the first starts its
// pops after pushes that wait, and after the instructions between: loads of some beats, GEMMs, ALUs, NOPs.
#pragma once

#include <cstdint>

#include "tests/generator/generator.h"

namespace dovetail::test {

// One launch around the limits of the units: the number of instructions in flight, the number of beats in the buffer.
// No two instructions conflict.
GeneratedProgram crossed_program(const isa::HardwareConfig& config, std::uint64_t seed);

}  // namespace dovetail::test
