// A transfer of one row, for hand-made streams.
#pragma once

#include <cstdint>

#include "isa/instruction.h"

namespace dovetail::accel {

inline isa::Transfer row_of(isa::Memory memory, std::uint32_t sram, std::uint64_t dram, std::uint32_t elements) {
  isa::Transfer t;
  t.memory = memory;
  t.sram_base = sram;
  t.dram_base = dram;
  t.y_size = 1;
  t.x_size = t.x_stride = elements;
  return t;
}

}  // namespace dovetail::accel
