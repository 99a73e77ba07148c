// How loops run over a block's iterators: whether every value occurs, and whether a reduction is initialized before it
// accumulates. The proofs are sound but not complete: false means "not proven". Forms produced by split, fuse and
// reorder are proven at any size, others by testing all points of small nests.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

// Whether every value of the block's iterators occurs in the loops of `path` where `predicate` (null: always) is true,
// and no condition is on the path.
bool runs_over_all(const Path& path, const loops::Expr& predicate);

// `term`, in iterators and loop variables, holds whenever all iterators of the block are within their extents.
bool holds_in_range(const loops::Block& block, const loops::Expr& term, const loops::Bounds& loops);

// The block at `path` writes every element of `buffer`.
bool writes_whole(const Path& path, const loops::BufferNode& buffer);

// The block's init may be moved, or the loops `inside` reordered: while the loops `outside` are fixed, each element of
// the result is initialized at exactly one point, which is the first of its points in any order of the inner loops.
bool starts_once(const loops::Block& block, const std::vector<const loops::For*>& outside,
                 const std::vector<const loops::For*>& inside);

// Every point of the box [0, extents) is a value that some point of `loops` gives.
bool covers(const std::vector<loops::Expr>& values, const std::vector<std::int64_t>& extents,
            const std::vector<const loops::For*>& loops);

// `predicate` holds whenever all `values` are in [0, extents).
bool holds_where(const loops::Expr& predicate, const std::vector<loops::Expr>& values,
                 const std::vector<std::int64_t>& extents, const loops::Bounds& bounds);

// Two points that differ only in `vars` have values that differ by more than the slack in at least one of `values`:
// boxes of those sizes (less 1) that begin there have no element in common.
bool distinguishes(const std::vector<loops::Expr>& values, const std::vector<std::int64_t>& slacks,
                   const std::set<const loops::VarNode*>& vars, const loops::Bounds& bounds);
// The same for two points that differ in at least one of `vars`, and possibly in `others`; values must merely differ.
bool distinguishes_any(const std::vector<loops::Expr>& values, const std::set<const loops::VarNode*>& vars,
                       const std::set<const loops::VarNode*>& others, const loops::Bounds& bounds);

}  // namespace dovetail::schedule
