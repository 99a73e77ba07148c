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

// constant + sum of outer coefficients * outer values + sum of inner coefficients * loops of the leaf + the beginning
// of its place.
struct LeafForm {
  std::int64_t constant = 0;
  std::vector<std::pair<const loops::VarNode*, std::int64_t>> outer;
  std::vector<std::int64_t> inner;   // one per loop of the leaf
  const Placement* place = nullptr;  // the place of an on-chip buffer
};

struct Leaf {
  std::string block;
  std::vector<std::int64_t> extents;  // of the leaf's loops, without element loops
  std::vector<LeafForm> masks;        // the block runs where all are >= 0
  std::vector<bool> enumerated;       // loops that must be walked, so that every mask depends on at most one other loop

  // A transfer: element indices on chip, and in DRAM relative to the parameter. Data is copied where all masks of `pad`
  // are >= 0, and zeros are written elsewhere.
  struct Transfer {
    bool store = false, saturate = false;
    isa::Memory memory = isa::Memory::inp;
    int parameter = 0;  // position in the program's parameters
    LeafForm on_chip, dram;
    std::vector<LeafForm> pad;
  };
  // A GEMM, WINDOW or ALU instruction: element indices of its operands (source and weight may be absent), and of WINDOW
  // the tap within the weight. Or an epilogue, which becomes part of the instructions of its products: the weight is
  // the element of its parameters.
  struct Compute {
    std::string intrinsic;
    LeafForm dst;
    std::optional<LeafForm> src, wgt, tap;
    std::optional<std::int64_t> immediate;

    bool multiplies() const { return intrinsic == "accel.gemm" || tap.has_value(); }
    bool is_epilogue() const { return intrinsic.starts_with("accel.epilogue"); }
    // An addition of 0 in place: no instruction.
    bool does_nothing() const { return intrinsic == "accel.add_imm" && immediate == 0; }
  };
  std::optional<Transfer> transfer;
  std::optional<Compute> compute;
};

// `outside`: loops around `stmt`. Error: no instruction can execute the statement.
Result<Leaf> make_leaf(const loops::Stmt& stmt, const std::vector<const loops::For*>& outside,
                       const LeafContext& context);

// A program of more instructions is refused, since it would take too long to compile.
inline constexpr std::size_t kMostInstructions = std::size_t{1} << 24;

// Products of a GEMM or WINDOW that begin or complete their sums.
struct Sums {
  bool starts = false;  // results are not initialized: the first product of each sum overwrites (extension `overwrite`)
  const Leaf* epilogue = nullptr;  // not null: the last product of each sum ends with it (extension `epilogue`)
};

// Appends the instructions of one iteration of the outer loops. Errors: a pad that no LOAD has, more than
// kMostInstructions in the stream.
Result<void> emit_leaf(const Leaf& leaf, const LoopValues& outer, const LeafContext& context, int node, Stream& stream,
                       const Sums& sums);

// Whether an iteration of leaf `a` writes the same elements as an iteration of leaf `b`.
bool write_the_same(const Leaf& a, const LoopValues& a_outer, const Leaf& b, const LoopValues& b_outer,
                    const LeafContext& context);

}  // namespace dovetail::accel
