// The simplifier's rules, one row each. A rule examines a node whose children are simplified and returns a replacement,
// or null. Every row is brute-force tested (tests/unit/loops/simplify.cpp): a rule without a case in that test fails
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "loops/simplify.h"

namespace dovetail::loops {

// The kinds of nodes, one bit each: used to select the applicable rules.
using Shapes = std::uint32_t;
Shapes shape_of(const Expr& expr);

struct SimplifyRule {
  std::string_view name;
  std::string_view law;
  Shapes shapes;  // the nodes to which it may apply
  Expr (*apply)(const Expr& expr, const Bounds& bounds);
};

std::span<const SimplifyRule> simplify_rules();  // in the order in which they are tried

// Whether collecting the terms of a sum would change nothing, which is true for nearly all sums. May return false for
// some sums that would not change. Precondition: dtype int64, is_linear_op().
bool is_collected(const Expr& sum);

}  // namespace dovetail::loops
