// Unification of a block with an intrinsic's loop program, for tensorize: which buffer corresponds to which operand,
// and with which strides.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/nest.h"
#include "loops/intrinsic.h"

namespace dovetail::schedule {

// The result of matching the intrinsic's body against a block's body.
struct Match {
  struct Access {
    const loops::BufferNode* parameter;        // of the intrinsic
    std::vector<loops::Expr> inside, outside;  // its indices there, and the block's indices in loop variables
    loops::Buffer buffer;
    std::vector<bool> computed;  // by dimension: the index is computed from loads, which match; all of it is accessed
  };
  std::vector<Access> accesses;
  std::map<const loops::VarNode*, loops::Expr> immediates;
};

// Expressions are compared node by node. The operands of the pattern's +, *, min and max may be exchanged: bit i of
// `exchanges` says so for the i-th such node, of which there are commuting_nodes(). Empty on success, else the
// mismatch.
int commuting_nodes(const loops::Stmt& pattern);
std::string match_bodies(const loops::Intrinsic& intrinsic, const loops::Stmt& pattern, const loops::Stmt& target,
                         const loops::VarMap& bindings, const loops::Bounds& bounds, unsigned exchanges, Match& match);

// Whether the expressions are of one kind, node by node, in some order of exchangeable operands: otherwise
// match_bodies() finds no match. Much cheaper than match_bodies().
bool are_alike(const loops::Stmt& pattern, const loops::Stmt& target);

struct Operand {
  loops::Buffer buffer;
  std::vector<loops::Expr> base;                 // indices with all tensorized loops at 0
  std::vector<std::vector<std::int64_t>> steps;  // [parameter axis][buffer dimension]
};

// The strides of operand `parameter` when intrinsic axes are assigned to loops: `loop_of` maps an axis' variable to its
// position in `loops`. nullopt: it does not fit, `why` has the reason.
std::optional<Operand> derive_operand(const loops::Parameter& parameter, const Match& match,
                                      const std::vector<const loops::For*>& loops,
                                      const std::vector<const loops::For*>& outside,
                                      const std::map<const loops::VarNode*, int>& loop_of, const loops::Bounds& bounds,
                                      std::string& why);

}  // namespace dovetail::schedule
