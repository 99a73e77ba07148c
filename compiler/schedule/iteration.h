// How loops run over a block's iterators: whether every value occurs, and whether a reduction starts before it adds.
// Proofs, sound and not complete: false means "not shown". The forms that split, fuse and reorder make are shown at any
// size, others by trying all points of small nests.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

// Every value of the block's iterators occurs in the loops of `path` where `predicate` (null: always) holds, and no
// condition is on the path.
bool runs_over_all(const Path& path, const loops::Expr& predicate);

// `term`, in iterators and loop variables, holds wherever all iterators of the block are within their extents.
bool holds_in_range(const loops::Block& block, const loops::Expr& term, const loops::Bounds& loops);

// The block at `path` writes every element of `buffer`.
bool writes_whole(const Path& path, const loops::BufferNode& buffer);

// The block's init may be moved, or the loops `inside` reordered: while the loops `outside` are fixed, each element of
// the result is started at exactly one point, which is the first of its points in any order of the loops inside.
bool starts_once(const loops::Block& block, const std::vector<const loops::For*>& outside,
                 const std::vector<const loops::For*>& inside);

// Every point of the box [0, extents) is a value that some point of `loops` gives.
bool covers(const std::vector<loops::Expr>& values, const std::vector<std::int64_t>& extents,
            const std::vector<const loops::For*>& loops);

// `predicate` holds wherever all `values` are in [0, extents).
bool holds_where(const loops::Expr& predicate, const std::vector<loops::Expr>& values,
                 const std::vector<std::int64_t>& extents, const loops::Bounds& bounds);

// Two points that differ in `vars` alone have values that are stored more than its slack apart in at least one of
// `values`: boxes of those sizes (less 1) that begin there have no element in common.
bool tells_apart(const std::vector<loops::Expr>& values, const std::vector<std::int64_t>& slacks,
                 const std::set<const loops::VarNode*>& vars, const loops::Bounds& bounds);
// The same of two points that differ in one of `vars` at least, and perhaps in `others`; values differ at all.
bool tells_apart_whatever(const std::vector<loops::Expr>& values, const std::set<const loops::VarNode*>& vars,
                          const std::set<const loops::VarNode*>& others, const loops::Bounds& bounds);

}  // namespace dovetail::schedule
