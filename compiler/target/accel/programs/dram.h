// The part of the accelerator's memory that programs may use.
#pragma once

#include <cstdint>

#include "isa/config.h"

namespace dovetail::accel {

inline constexpr std::uint64_t kMemoryBase = 0x1000;  // page 0 is unused, so that a null address is never valid
inline constexpr std::uint64_t kPage = 4096;          // elements of all memories are at most this many bytes

// The first address that instructions cannot reach, by `address_bits` and by the field dram_base, which counts
// elements.
std::uint64_t end_of_memory(const isa::HardwareConfig& config);

}  // namespace dovetail::accel
