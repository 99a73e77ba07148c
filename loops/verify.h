// The rules of loops/ir.h, checked: types, unique names, affine bindings within iterator extents (by predicate where a split does not
// divide), declared regions that cover the accesses, stores only in blocks, every index in bounds (proven, or reported as not proven),
// reductions of a recognised form where a block has reduce iterators, intrinsic calls that match their table entry.
#pragma once

#include "base/result.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::loops {

Result<void> verify(const Program& program, const IntrinsicTable& intrinsics = {});

// The regions a block's body and init touch, as tight boxes in the block's iterators; what tensor expressions and primitives declare.
struct BlockRegions {
  std::vector<Region> reads, writes;
};
BlockRegions infer_regions(const Block& block);

}  // namespace dovetail::loops
