// Conditions under which a statement does something, for the passes that leave iterations out.
#pragma once

#include <set>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

// The condition without which a store leaves its element as it is: of s = s + select(c, e, 0). Null: there is none. A
// float sum must start at its block's init, since adding 0 changes -0.
Expr condition_of(const CoreStore& store);
// The same store where the condition is true except for `remaining`, which may be null.
CoreStore with_condition(const CoreStore& store, const Expr& remaining);

// The terms of a conjunction, which are all evaluated together.
std::vector<Expr> terms_of(const Expr& condition);

// What a statement writes, and whether it has parts of which that is not known.
struct Writes {
  std::set<const BufferNode*> buffers;
  bool unknown = false;
};
Writes writes_of(const Core& core);

bool mentions(const Expr& expr, const std::set<const VarNode*>& vars);
bool loads_one_of(const Expr& expr, const std::set<const BufferNode*>& buffers);

}  // namespace dovetail::loops
