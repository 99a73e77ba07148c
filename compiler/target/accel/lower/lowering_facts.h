// The facts of the hardware that lowering reads. Programs with the same places become the same instructions on machines
// with equal facts.
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
  bool overwrite, saturate, epilogue;
  std::uint32_t push_only;  // Uop::wgt of a micro-op of WINDOW that only pushes
  std::int64_t most_uops;   // micro-ops of a kernel
  // The maximum values of the fields of an instruction.
  std::int64_t most_transferred;  // rows, and elements per row, of a LOAD or STORE
  std::int64_t most_stride;       // elements from row to row in DRAM
  std::int64_t most_pad;          // rows or elements of zeros on each side of a LOAD
  std::int64_t most_trips;        // iterations of each loop of a GEMM or ALU
  isa::spec::FieldRange immediate;
};

}  // namespace dovetail::accel
