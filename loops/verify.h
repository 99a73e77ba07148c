// Checks the rules of loops/ir.h: types, unique names, affine bindings within iterator extents (by predicate where a
// split does not divide), declared regions that cover the accesses, stores only in blocks, every index in bounds
// (proven, or reported as not proven), reductions of a recognized form where a block has reduce iterators, intrinsic
// calls that match their table entry.
#pragma once

#include "base/result.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::loops {

// An index without loads must be proven in bounds from extents, predicates and the enclosing conditions; one that
// depends on data is checked when the program runs. `allow` defers all of them to run time (the interpreter does that).
enum class UnprovenIndices : std::uint8_t { report, allow };

Result<void> verify(const Program& program, const IntrinsicTable& intrinsics = {},
                    UnprovenIndices unproven = UnprovenIndices::report);

// The subset of these rules that a rewrite of the loops around blocks can violate: names, the ranges of iterators,
// conditions and predicates.
Result<void> verify_iterators(const Program& program);

// An intrinsic's own rules: its semantics verifies with the immediates as free variables, and every parameter is an
// operand with a scope.
Result<void> verify(const Intrinsic& intrinsic);

// The regions that a block's body and init access, as tight boxes in the block's iterators; tensor expressions and
// primitives declare them. Accesses to one buffer whose boxes differ by constants share one region; others have
// separate ones. A dimension indexed by loaded values is read whole. For an intrinsic call the operands' extents come
// from the table; without its row, the regions that the block declares for its operands are used.
struct BlockRegions {
  std::vector<Region> reads, writes;
};
BlockRegions infer_regions(const Block& block, const IntrinsicTable& intrinsics = {});

// Fills in what the text of a program omits: the extents of calls' operands, and the regions of blocks that declare
// none. Calls that do not match the table stay as they are, for verify() to report.
Program complete_calls(Program program, const IntrinsicTable& intrinsics);

}  // namespace dovetail::loops
