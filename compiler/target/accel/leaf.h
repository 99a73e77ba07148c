// A leaf: a perfect loop nest around one block, the unit that becomes instructions. Its accesses are affine forms,
// derived once and evaluated for every iteration of the loops outside.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target/accel/on_chip.h"
#include "compiler/target/accel/stream.h"
#include "isa/spec/range.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"
#include "loops/simplify.h"

namespace dovetail::accel {

// What the fields of one instruction hold.
struct InstructionLimits {
  explicit InstructionLimits(const isa::HardwareConfig& config);

  std::int64_t pad;    // rows or elements of zeros on each side of a LOAD
  std::int64_t trips;  // of each loop of a GEMM or ALU
  isa::spec::FieldRange immediate;
};

struct LeafContext {
  const loops::Program& program;
  const loops::IntrinsicTable& intrinsics;
  const isa::HardwareConfig& config;
  const InstructionLimits& limits;
  const std::map<std::string, std::uint64_t>& dram;  // physical byte addresses of the parameters
  const Placements& placements;
};

// constant + sum of outer coefficients * outer values + sum of inner coefficients * the leaf's own loops, and where its
// place begins.
struct LeafForm {
  std::int64_t constant = 0;
  std::vector<std::pair<const loops::VarNode*, std::int64_t>> outer;
  std::vector<std::int64_t> inner;   // one per loop of the leaf
  const Placement* place = nullptr;  // of what lies on chip
};

struct Leaf {
  std::string block;
  std::vector<std::int64_t> extents;  // of the leaf's loops, element loops left out
  std::vector<LeafForm> masks;        // each >= 0 where the block runs
  std::vector<bool> enumerated;       // loops that must be walked, so that every mask depends on one loop at most

  // A transfer: element indices on chip and in DRAM. Masks of `pad`: each >= 0 where data is copied; zero elsewhere.
  struct Transfer {
    bool store = false, saturate = false;
    isa::Memory memory = isa::Memory::inp;
    LeafForm on_chip, dram;
    std::vector<LeafForm> pad;
  };
  // A GEMM or ALU instruction: element indices of its operands (source and weight may be absent).
  struct Compute {
    std::string intrinsic;
    LeafForm dst;
    std::optional<LeafForm> src, wgt;
    std::optional<std::int64_t> immediate;
  };
  std::optional<Transfer> transfer;
  std::optional<Compute> compute;
};

// `outside`: loops around `stmt`. Throws InternalError where the schedule left something that no instruction does.
Leaf make_leaf(const loops::Stmt& stmt, const std::vector<const loops::For*>& outside, const LeafContext& context);

// Appends the instructions of one iteration of the outer loops. `starts_sums`: of a GEMM's leaf, which runs where its
// results hold nothing yet; the first product of each overwrites (extension `overwrite`).
void emit_leaf(const Leaf& leaf, const LoopValues& outer, const LeafContext& context, int node, Stream& stream,
               bool starts_sums);

// Whether one iteration of two leaves of computations writes the same elements.
bool write_the_same(const Leaf& a, const LoopValues& a_outer, const Leaf& b, const LoopValues& b_outer,
                    const LeafContext& context);

}  // namespace dovetail::accel
