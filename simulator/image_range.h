// Checks that a transfer stays within the memory image, for all simulators that move data or read micro-ops.
#pragma once

#include <cstdint>
#include <string>

#include "isa/instruction.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// Why an instruction could not be executed; the caller adds its index and text.
struct Fault {
  std::string why;
  std::string hint;
  bool outside_image = false;  // an address that no memory responds to
};

// Physical bytes [begin, end) from the first to the last byte moved. Precondition: y_size and x_size are not 0, and
// addresses fit 64 bits.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
};
constexpr ByteRange bytes_moved(const isa::Transfer& transfer, std::uint64_t element_bytes) {
  // Rows are in ascending order, so the first and the last one bound all of them.
  return {
      transfer.dram_base * element_bytes,
      (transfer.dram_base + std::uint64_t{transfer.y_size - 1} * transfer.x_stride + transfer.x_size) * element_bytes};
}
inline bool covers(const Dram& dram, ByteRange range) {
  return range.begin >= dram.base && range.end <= dram.base + dram.bytes.size();
}

// Precondition: !covers(dram, range). `action`: "read" or "written".
Fault outside_image(const Dram& dram, ByteRange range, std::uint64_t element_bytes, const char* action);

}  // namespace dovetail::simulator
