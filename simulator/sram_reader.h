// The contents of the on-chip memories, for display: an engine that can show them is both a SramReader and a Simulator.
#pragma once

#include <cstddef>

#include "base/ndarray.h"
#include "isa/config.h"

namespace dovetail::simulator {

class SramReader {
 public:
  virtual ~SramReader() = default;

  // Elements [begin, begin + count) of a memory: ACC int32 [n][batch][block_out]; OUT the same in int8, the low bits;
  // INP int8 [n][batch][block_in]; WGT int8 [n][block_out][block_in]; UOP uint32 [n][3], dst, src and wgt. Elements
  // never written are 0. Precondition: the range is within the memory.
  virtual NdArray read_sram(isa::Memory memory, std::size_t begin, std::size_t count) const = 0;
  virtual bool is_written(isa::Memory memory, std::size_t element) const = 0;
};

}  // namespace dovetail::simulator
