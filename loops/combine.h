// The update of a reduction: T = T op value, for an operation that may be applied in any order (+, *, min, max), or of
// a tuple whose better part is kept (argmax: the value and its index are selected together). What distinguishes partial
// results from their elements: two of them are joined as one is with an element.
#pragma once

#include <optional>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

struct Combine {
  std::vector<Expr> values;  // what each target is joined with; they load no target

  // Of each target: the operation, nullopt where one of both is selected. All of them select, or none does.
  std::vector<std::optional<BinaryOp>> operations;
  bool selects() const { return !operations.front(); }

  // What each target becomes where the targets hold `a` and are joined with `b`.
  std::vector<Expr> join(const std::vector<Expr>& a, const std::vector<Expr>& b) const;

  std::vector<Expr> form;  // in `own` and `other`
  std::vector<Var> own, other;
};

// nullopt: the store is not of that form.
std::optional<Combine> combine_of(const std::vector<StoreTarget>& targets);

// The value that changes nothing: 0 of a sum.
Expr identity_of(BinaryOp op, DType dtype);

// A partial result that starts at `start` may be joined with others that start there too: it is the operation's
// identity, or joining it again changes nothing.
bool starts_anywhere(const Combine& combine, std::size_t target, const Expr& start);

}  // namespace dovetail::loops
