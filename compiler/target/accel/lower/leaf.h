// A leaf: a perfect loop nest around one block, the unit that becomes instructions. Its accesses are affine forms,
// derived once and evaluated for every iteration of the loops outside.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target/accel/lower/lowering_facts.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/stream/stream.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"
#include "loops/simplify.h"

namespace dovetail::accel {

struct LeafContext {
  const loops::Program& program;
  const loops::IntrinsicTable& intrinsics;
  const LoweringFacts& facts;
  const Placements& placements;
};

// constant + sum of outer coefficients * outer values + sum of inner coefficients * the leaf's own loops, and where its
// place begins.
struct LeafForm {
  std::int64_t constant = 0;
  std::vector<std::pair<const loops::VarNode*, std::int64_t>> outer;
  std::vector<std::int64_t> inner;   // one per loop of the leaf
  const Placement* place = nullptr;  // of what is on chip
};

struct Leaf {
  std::string block;
  std::vector<std::int64_t> extents;  // of the leaf's loops, element loops left out
  std::vector<LeafForm> masks;        // each >= 0 where the block runs
  std::vector<bool> enumerated;       // loops that must be walked, so that every mask depends on one loop at most

  // A transfer: element indices on chip, and in DRAM from the parameter's place on. Masks of `pad`: each >= 0 where
  // data is copied; zero elsewhere.
  struct Transfer {
    bool store = false, saturate = false;
    isa::Memory memory = isa::Memory::inp;
    int parameter = 0;  // position among the program's
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
