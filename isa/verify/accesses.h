// The exact accesses of one instruction: elements of SRAM and byte ranges of DRAM. The verifier uses them to find
// races, and the compiler to place tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/index_set.h"

namespace dovetail::isa {

enum class AccessKind : std::uint8_t { read, write, update };  // update: reads, then writes, the same elements

// An access to INP, WGT, ACC or TAB. UOP has one queue and is tracked by UopBuffer.
struct SramAccess {
  Memory memory = Memory::acc;
  AccessKind kind = AccessKind::read;
  bool anywhere = false;     // the micro-ops are unknown, and so are the elements; runs is empty
  bool possible = false;     // with `anywhere`: perhaps there is no access
  std::vector<Extent> runs;  // elements, ascending and disjoint, within the memory
};

// A transfer's DRAM side in bytes. Adjacent rows are merged.
struct DramAccess {
  bool write = false;
  std::uint64_t begin = 0, row_bytes = 0, stride_bytes = 0, rows = 0;

  bool empty() const { return rows == 0; }
  Extent row(std::uint64_t y) const { return {begin + y * stride_bytes, begin + y * stride_bytes + row_bytes}; }
  Extent hull() const { return {begin, empty() ? begin : row(rows - 1).end}; }
};
DramAccess dram_access(const HardwareConfig& config, const Instruction& instruction);

// How a micro-op loop transforms an index, with the largest value that it takes; the basis of both the sets and the
// check against the depth.
struct IndexUse {
  Memory memory = Memory::acc;
  AccessKind kind = AccessKind::read;
  std::uint32_t Uop::*field = nullptr;
  std::uint64_t factor_out = 0, factor_in = 0;
  std::uint64_t span = 1;  // consecutive elements starting at the index, spec::source_elements of an ALU's source
  // Micro-ops with this wgt lack the access: those of WINDOW that only push.
  std::optional<std::uint32_t> unless_wgt = std::nullopt;

  bool is_of(const Uop& uop) const { return uop.wgt != unless_wgt; }
};
// At most inp, wgt and dst; none for FINISH, LOAD, STORE.
struct IndexUses {
  std::array<IndexUse, 3> uses;
  std::size_t count = 0;
  std::span<const IndexUse> all() const { return {uses.data(), count}; }
};
IndexUses index_uses(const HardwareConfig& config, const Instruction& instruction);
// The end of the micro-ops that the instruction reads, if it has steps.
std::uint32_t end_of_uops(const Instruction& instruction);
// True if there is no step: one of the three loops is zero-trip.
bool zero_trip(const UopLoop& loop);

// Reuses its scratch memory from call to call.
class AccessFinder {
 public:
  explicit AccessFinder(const HardwareConfig& config);
  // Valid until the next call. `kernel`: the micro-ops of a GEMM, GEMMQ, WINDOW or ALU, those of its loop and, if it
  // has an epilogue, the one after them; without it the instruction may access any element.
  std::span<const SramAccess> find(const Instruction& instruction, std::optional<std::span<const Uop>> kernel);

 private:
  SramAccess& append(Memory memory, AccessKind kind);
  IndexSet& set_of(Memory memory);

  const HardwareConfig& config_;
  IndexSet inp_, wgt_, acc_;
  std::array<SramAccess, 4> accesses_;  // at most those of index_uses(), and TAB
  std::size_t count_ = 0;
};

}  // namespace dovetail::isa
