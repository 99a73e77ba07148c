// Inequalities known from the conditions around an expression, and proofs from them, for example that `in[y + ky - 1]`
// under `select(y + ky >= 1 && ..., ...)` is in bounds.
#pragma once

#include <cstddef>
#include <vector>

#include "loops/linear.h"
#include "loops/simplify.h"

namespace dovetail::loops {

class Seen;

class Facts {
 public:
  explicit Facts(const Bounds& bounds) : bounds_(&bounds) {}

  // Both record only conjunctions of integer comparisons; other terms are dropped.
  void assume(const Expr& condition);
  void assume_not(const Expr& condition);

  // True only if the linear form is proven non-negative for all values in the bounds that satisfy the facts.
  bool non_negative(const Linear& linear) const;
  bool in_range(const Expr& expr, std::int64_t extent) const;  // 0 <= expr < extent; precondition: dtype int64

  bool empty() const { return facts_.empty(); }
  std::size_t count() const { return facts_.size(); }  // increases if an assumption contains an integer comparison

 private:
  // `looked_at`: subexpressions already visited, as a condition may contain one several times.
  void assume(const Expr& condition, Seen& looked_at);
  void assume_not(const Expr& condition, Seen& looked_at);
  void add(const Expr& large, const Expr& small, std::int64_t margin);  // large - small >= margin
  bool prove(const Linear& linear, int depth) const;

  const Bounds* bounds_;
  std::vector<Linear> facts_;  // each is >= 0
  bool never_ = false;         // no values in the bounds satisfy the facts: what is under them is not reached
};

}  // namespace dovetail::loops
