// Small programs, right and wrong, that exercise only tokens: NOPs, loads of a few beats, GEMMs and ALUs without steps.
// No two of their instructions conflict.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/generator/generator.h"

namespace dovetail::test {

// `tiny` with other depths, down to 1.
isa::HardwareConfig shallow_config(std::uint64_t seed);

// At most `size` instructions in one or two launches. In half of the launches all tokens match, and queues may be too
// short; in the others flags are wrong, or instructions are missing or moved.
GeneratedProgram token_program(const isa::HardwareConfig& config, std::uint64_t seed, std::size_t size);

}  // namespace dovetail::test
