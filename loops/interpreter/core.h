// What the interpreter compiles from: the program with blocks dissolved. Iterators are replaced by their bindings, predicates and inits are
// conditions, intrinsic calls are their semantics on windows of the operands, loops of one iteration are gone.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "loops/intrinsic.h"
#include "loops/ir.h"
#include "loops/simplify.h"

namespace dovetail::loops {

struct CoreNode;
using Core = std::shared_ptr<const CoreNode>;

struct CoreLoop {
  Var var;
  std::int64_t extent;  // at least 2
  Core body;
};
struct CoreIf {
  Expr condition;
  Core then_body, else_body;  // else may be null
};
struct CoreSequence {
  std::vector<Core> body;
};
struct CoreStore {
  std::vector<StoreTarget> targets;
  std::string block;  // for diagnostics
  // Elements that the block's init has written whenever this statement runs.
  std::vector<LoadExpr> initialised;
};
// The contents become undefined: an intrinsic's own buffers at each call.
struct CoreForget {
  Buffer buffer;
};
struct CoreNode {
  std::variant<CoreLoop, CoreIf, CoreSequence, CoreStore, CoreForget> node;
};

struct CoreProgram {
  Core body;
  Bounds bounds;                  // of all loop variables
  std::vector<Buffer> temporary;  // allocations of the program and of the intrinsics called
};

// Precondition: the program verifies with these intrinsics.
CoreProgram dissolve_blocks(const Program& program, const IntrinsicTable& intrinsics);

}  // namespace dovetail::loops
