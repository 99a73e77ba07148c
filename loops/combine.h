// The update of a reduction: T = T op value, for an operation that may be applied in any order (+, *, min, max), or of
// a tuple whose better part is kept (argmax: the value and its index are selected together). What distinguishes such an
// update is that two partial results are joined in the same way as a partial result and an element.
#pragma once

#include <optional>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

struct Combine {
  std::vector<Expr> values;  // the values that the targets are joined with; they do not load a target

  // The operation for each target; nullopt if one of both values is selected. Either all targets select, or none does.
  std::vector<std::optional<BinaryOp>> operations;
  bool selects() const { return !operations.front(); }

  // The value of each target when targets that hold `a` are joined with `b`.
  std::vector<Expr> join(const std::vector<Expr>& a, const std::vector<Expr>& b) const;

  std::vector<Expr> form;  // in terms of `own` and `other`
  std::vector<Var> own, other;
};

// nullopt: the store is not of that form.
std::optional<Combine> combine_of(const std::vector<StoreTarget>& targets);

// The value that changes nothing when joined: 0 for a sum.
Expr identity_of(BinaryOp op, DType dtype);

// True if a partial result that starts at `start` may be joined with others that start there too: `start` is the
// operation's identity, or joining it again changes nothing.
bool starts_anywhere(const Combine& combine, std::size_t target, const Expr& start);

}  // namespace dovetail::loops
