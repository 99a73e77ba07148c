// The bytes that the bursts of a STORE write: bursts are whole beats, but rows begin and end within them. Bursts come
// row by row (docs/reference/timing.md, section 3).
#pragma once

#include <cstdint>

#include "isa/instruction.h"
#include "simulator/image_range.h"

namespace dovetail::simulator::systemc {

class StoredRows {
 public:
  void begin(const isa::Transfer& store, std::uint64_t element_bytes) {
    stride_bytes_ = store.x_stride * element_bytes;
    row_.begin = store.dram_base * element_bytes;
    row_.end = row_.begin + store.x_size * element_bytes;
  }
  // The bytes of the row that the next burst belongs to. Precondition: begin() of a STORE that moves something.
  const ByteRange& row() const { return row_; }
  // A burst that ends at byte `end` has been sent.
  void sent(std::uint64_t end) {
    if (end < row_.end) return;
    row_.begin += stride_bytes_;
    row_.end += stride_bytes_;
  }

 private:
  ByteRange row_;
  std::uint64_t stride_bytes_ = 0;
};

}  // namespace dovetail::simulator::systemc
