// The part of a buffer that a set of blocks accesses while the outer loops are fixed: the basis of compute_at and of
// buffer compaction.
#pragma once

#include <optional>
#include <vector>

#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

// One access of a buffer: index expressions in loop variables (iterators replaced by their bindings), and the loops
// around it, outermost first.
struct Access {
  const loops::Block* block;  // the outermost enclosing block; null: a condition of blocks
  std::vector<loops::Expr> indices;
  std::vector<const loops::For*> loops;
  bool write;
};

// All loads from and stores to `buffer` below `root` (including operands of intrinsic calls, as the corner of the
// accessed box, widened by `extents`); `outside`: the loops around `root`.
struct AccessBox {
  Access access;
  std::vector<std::int64_t> extents;  // per dimension: 1 for an element access
};
std::vector<AccessBox> accesses(const loops::Stmt& root, const loops::BufferNode* buffer,
                                const std::vector<const loops::For*>& outside);

// The innermost loop around all blocks that access the buffer, as a path; empty if there is none.
Path home_of(const loops::Stmt& root, const loops::BufferNode* buffer);

// min + [0, extent) per dimension; min is affine in the variables of `outside`.
using Box = std::vector<loops::RangeExpr>;

// The tight box that the accesses cover while the loops of `outside` are fixed. A dimension whose index does not reduce
// to an affine form with equal outer parts in all accesses takes the whole extent of the buffer.
Box touched_box(const std::vector<AccessBox>& accesses, const loops::BufferNode& buffer,
                const std::vector<const loops::For*>& outside);

}  // namespace dovetail::schedule
