// The elements that an instruction touches, found by walking its loops with the executable semantics: slow and plainly
// right. The generator places tokens by them and the tests' oracle judges by them; isa/verify computes the same sets in
// a faster way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"

namespace dovetail::test {

// The memories that two queues share, and the table.
inline constexpr std::size_t kSharedMemories = 4;
inline constexpr std::array<isa::Memory, kSharedMemories> kShared = {isa::Memory::inp, isa::Memory::wgt,
                                                                     isa::Memory::acc, isa::Memory::tab};

struct Touches {
  // Indexed by kShared; ascending, each element once. An element may be in both.
  std::array<std::vector<std::uint32_t>, kSharedMemories> reads, writes;
  // For LOADs and STOREs, but not for LOAD UOP; byte addresses, one extent for each row, in row order.
  std::vector<isa::Extent> dram_reads, dram_writes;
  std::vector<isa::Extent> uop_reads;        // for LOAD UOP
  std::vector<std::uint32_t> uops_executed;  // UOP elements
  std::uint64_t operations = 0;              // elements moved (pads included), or loop steps
};

// `uops`: the UOP memory. Precondition: indices may exceed the memories, but no loop has more than a few million steps.
Touches touches(const isa::HardwareConfig& config, const isa::Instruction& instruction, std::span<const isa::Uop> uops);

}  // namespace dovetail::test
