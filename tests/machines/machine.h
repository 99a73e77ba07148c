// Random legal machines on which models are compiled.
#pragma once

#include <cstdint>

#include "isa/config.h"

namespace dovetail::test {

// Batches up to 4, blocks up to 64. Even seeds are those of any_config(), most of which have shallow buffers; odd seeds
// have buffers of 128 elements and more, and an address space of 256 MiB and more, so that most operators fit.
isa::HardwareConfig legal_machine(std::uint64_t seed);

}  // namespace dovetail::test
