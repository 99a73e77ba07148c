// Determines which loops may run in lanes: each instruction executes for all iterations before the next one starts.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

// A nest of loops with nothing between them around statements without loops. The last loop's variable moves fastest
// from lane to lane.
struct LaneSpace {
  std::vector<const CoreLoop*> loops;
  Core body;
  std::int64_t count = 1;                 // product of the extents
  std::set<const CoreStore*> reductions;  // stores that fold all lanes into one element

  bool has(const VarNode* var) const;
};

// The nest that begins at `loop`, if running it in lanes gives the results of running it in order; nullopt otherwise.
std::optional<LaneSpace> lane_space(const CoreLoop& loop);

struct Reduction {
  BinaryOp op;
  Expr value;
};
// B[i] = B[i] op value (or value op B[i], if the operation is commutative).
std::optional<Reduction> as_reduction(const CoreStore& store);

}  // namespace dovetail::loops
