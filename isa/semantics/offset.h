// OFFSET: a register that LOADs and STOREs with the bit `offset` add to their DRAM address, in bytes. A transfer moves
// whole elements, so the register is rounded down to a multiple of the element's bytes.
#pragma once

#include <cstdint>

#include "isa/instruction.h"

namespace dovetail::isa::semantics {

// The element of DRAM at which the transfer begins. Precondition: offset < 2^address_bits.
constexpr std::uint64_t dram_begin(const Transfer& transfer, std::uint64_t element_bytes, std::uint64_t offset) {
  return transfer.dram_base + (transfer.offset ? offset / element_bytes : 0);
}

}  // namespace dovetail::isa::semantics
