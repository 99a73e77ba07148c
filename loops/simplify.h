// Interval bounds and the affine normal form of index expressions, and constant folding. Every rule is brute-force
// tested.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

struct Interval {
  std::int64_t min, max;  // inclusive
  bool operator==(const Interval&) const = default;
};
using Bounds = std::map<const VarNode*, Interval>;

// The tightest interval that the rules prove for an integer or bool expression; nullopt if they prove nothing beyond
// the range of 64 bits. A load has the range of its type.
std::optional<Interval> bound(const Expr& expr, const Bounds& bounds);

// Semantics-preserving: folds constants, cancels affine terms, removes div and mod that bounds prove trivial, decides
// comparisons.
Expr simplify(const Expr& expr, const Bounds& bounds = {});

// expr = constant + sum(coefficient * variable); nullopt if it is not of that form after simplification.
struct Affine {
  std::int64_t constant = 0;
  std::map<const VarNode*, std::int64_t> coefficients;  // non-zero ones
  bool operator==(const Affine&) const = default;
};
std::optional<Affine> affine(const Expr& expr, const Bounds& bounds = {});

// The value of an integer expression without loads if all variables are given; nullopt otherwise.
std::optional<std::int64_t> evaluate(const Expr& expr, const std::map<const VarNode*, std::int64_t>& values);

}  // namespace dovetail::loops
