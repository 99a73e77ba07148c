// All that lowering reads of the hardware. Programs that are at the same places become the same instructions on
// machines that are equal here, whatever else they differ in.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "isa/config.h"
#include "isa/spec/memories.h"
#include "isa/spec/range.h"

namespace dovetail::accel {

struct LoweringFacts {
  explicit LoweringFacts(const isa::HardwareConfig& config);

  std::uint64_t bytes_of(isa::Memory memory) const { return element_bytes[static_cast<std::size_t>(memory)]; }
  auto operator<=>(const LoweringFacts&) const = default;

  std::array<std::uint64_t, isa::spec::kMemories.size()> element_bytes{};  // in DRAM, by memory
  bool overwrite, saturate;
  std::int64_t most_uops;  // of a kernel
  // What the fields of one instruction hold.
  std::int64_t most_transferred;  // rows, and elements of a row, of a LOAD or STORE
  std::int64_t most_stride;       // elements from row to row of these in DRAM
  std::int64_t most_pad;          // rows or elements of zeros on each side of a LOAD
  std::int64_t most_trips;        // of each loop of a GEMM or ALU
  isa::spec::FieldRange immediate;
};

}  // namespace dovetail::accel
