// The part of the accelerator's memory that programs may take.
#pragma once

#include <cstdint>

#include "isa/config.h"

namespace dovetail::accel {

inline constexpr std::uint64_t kMemoryBase = 0x1000;  // page 0 stays unused, so that a null address is never right
inline constexpr std::uint64_t kPage = 4096;          // an element of any memory has at most so many bytes

// The first address that no instruction reaches: by `address_bits`, and by the field dram_base, which counts elements.
std::uint64_t end_of_memory(const isa::HardwareConfig& config);

}  // namespace dovetail::accel
