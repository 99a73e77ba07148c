// The part of the accelerator's memory that programs may use.
#pragma once

#include <cstdint>

#include "base/ndarray.h"
#include "compiler/target/accel/programs/core.h"

namespace dovetail::accel {

inline constexpr std::uint64_t kMemoryBase = 0x1000;  // page 0 is unused, so that a null address is never valid
inline constexpr std::uint64_t kPage = 4096;          // elements of all memories are at most this many bytes

// The first address that instructions cannot reach, by `address_bits` and by the field dram_base, which counts
// elements.
std::uint64_t end_of_memory(const Core& config);

// Whether DRAM holds these int8 weights as int4: the hardware loads them (`weights4`), and all values fit.
bool are_int4(const NdArray& weights, const Core& config);
// Two int8 values of -8 to 7 a byte, the first in the low bits, as LOAD of WGT4 reads them.
NdArray pack_int4(const NdArray& weights);

}  // namespace dovetail::accel
