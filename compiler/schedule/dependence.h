// What ties iterations of a loop to one another: whether they touch common elements, and whether a buffer could be
// private to each of them. Proofs, sound and not complete: an index counts as its form says, and of a predicate what
// bounds just the part of an index that moves (v * 16 + l < 17 in g * 17 + v * 16 + l).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/region.h"
#include "loops/linear.h"

namespace dovetail::schedule {

// Where accesses are in one dimension while some variables are fixed: `base`, a form in the fixed variables, plus [low,
// high].
struct Span {
  loops::Linear base;  // constant 0
  std::int64_t low, high;
};
// The span of each dimension that holds all accesses; nullopt where they have no common base or depend on data.
using Hull = std::vector<std::optional<Span>>;
Hull hull_of(const std::vector<AccessBox>& accesses, const std::set<const loops::VarNode*>& fixed);

// Variables of loops.
std::set<const loops::VarNode*> vars_of(const std::vector<const loops::For*>& loops);

// Wherever `moving` differ (the other loops of `outside` being equal), the accesses touch no common element. `moving`
// is part of `outside`, the loops around them all. disjoint_hulls: nor do the boxes that hold them.
bool disjoint_hulls(const std::vector<AccessBox>& accesses, const std::vector<const loops::For*>& outside,
                    const std::vector<const loops::For*>& moving);
bool disjoint(const std::vector<AccessBox>& accesses, const std::vector<const loops::For*>& outside,
              const std::vector<const loops::For*>& moving);

// An allocation that is used inside the loop at `path` alone and of which each iteration reads only what it wrote
// itself: every iteration may have its own. Empty where that is shown, else why not.
std::string not_private(const loops::Program& program, const Path& path, const loops::Buffer& buffer,
                        const loops::IntrinsicTable& intrinsics);

struct Conflict {
  std::string why, hint;
};
// Why iterations of the loop at `path` must run one after the other; nullopt where they are shown to be independent: no
// block below reduces or is ordered over the loop, and of each buffer written below, different iterations touch
// different elements, or it is private to each.
std::optional<Conflict> carried_dependence(const loops::Program& program, const Path& path,
                                           const loops::IntrinsicTable& intrinsics);

// Buffers that blocks below a statement write, each once.
std::vector<loops::Buffer> written_below(const loops::Stmt& stmt);

}  // namespace dovetail::schedule
