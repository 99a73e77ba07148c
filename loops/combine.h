// The update of a reduction: T = T op value, for an operation that may be applied in any order (+, *, min, max), or of
// a tuple of which the better one is selected (argmax: the value and its index together). Two partial results are
// combined in the same way as a partial result and an element.
#pragma once

#include <optional>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

struct Combine {
  std::vector<Expr> values;  // the values combined with the targets; they do not load a target

  // The operation for each target; nullopt for a selection of one of the two values. Either all targets select, or none
  // does.
  std::vector<std::optional<BinaryOp>> operations;
  bool selects() const { return !operations.front(); }

  // The value of each target when targets with the values `a` are combined with `b`.
  std::vector<Expr> join(const std::vector<Expr>& a, const std::vector<Expr>& b) const;

  std::vector<Expr> form;  // in terms of `own` and `other`
  std::vector<Var> own, other;
};

// nullopt: the store is not of that form.
std::optional<Combine> combine_of(const std::vector<StoreTarget>& targets);

// The identity element of the operation: 0 for a sum.
Expr identity_of(BinaryOp op, DType dtype);

// True if partial results that start at `start` may be combined with each other: `start` is the operation's identity,
// or combining it again changes nothing.
bool starts_anywhere(const Combine& combine, std::size_t target, const Expr& start);

}  // namespace dovetail::loops
