// Dependences between iterations of a loop: whether they access common elements, and whether a buffer could be private
// to each of them. The proofs are sound but not complete: indices are considered by their form, and predicates only as
// bounds on the part of an index that moves (v * 16 + l < 17 in g * 17 + v * 16 + l).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/region.h"
#include "loops/linear.h"

namespace dovetail::schedule {

// The range of accesses in one dimension while some variables are fixed: `base`, a form in the fixed variables, plus
// [low, high].
struct Span {
  loops::Linear base;  // its constant is 0
  std::int64_t low, high;
};
// The span of each dimension that contains all accesses; nullopt if they have no common base or depend on data.
using Hull = std::vector<std::optional<Span>>;
Hull hull_of(const std::vector<AccessBox>& accesses, const std::set<const loops::VarNode*>& fixed);

// Variables of loops.
std::set<const loops::VarNode*> vars_of(const std::vector<const loops::For*>& loops);

// Whether accesses in iterations that differ in `moving` (and are equal in the other loops of `outside`) have no common
// element. `moving` is a subset of `outside`, all enclosing loops. disjoint_hulls: their bounding boxes are also
// disjoint.
bool disjoint_hulls(const std::vector<AccessBox>& accesses, const std::vector<const loops::For*>& outside,
                    const std::vector<const loops::For*>& moving);
bool disjoint(const std::vector<AccessBox>& accesses, const std::vector<const loops::For*>& outside,
              const std::vector<const loops::For*>& moving);

// Checks that an allocation is used only inside the loop at `path` and that each iteration reads only elements that it
// wrote itself: every iteration may then have a private copy. Empty if proven, else the reason why not.
std::string not_private(const loops::Program& program, const Path& path, const loops::Buffer& buffer,
                        const loops::IntrinsicTable& intrinsics);

struct Conflict {
  std::string why, hint;
};
// Why iterations of the loop at `path` must run one after the other; nullopt if they are proven independent: no inner
// block reduces or is ordered over the loop, and for each buffer written inside, different iterations access different
// elements, or it is private to each.
std::optional<Conflict> carried_dependence(const loops::Program& program, const Path& path,
                                           const loops::IntrinsicTable& intrinsics);

// Buffers that blocks below a statement write, without duplicates.
std::vector<loops::Buffer> written_below(const loops::Stmt& stmt);

}  // namespace dovetail::schedule
