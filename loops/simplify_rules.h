// The simplifier's rules, one row each. A rule looks at a node whose children are simplified and returns what to put in
// its place, or null. Every row is brute-force tested (tests/unit/loops/simplify.cpp): a rule without a case in that
// test fails it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "loops/simplify.h"

namespace dovetail::loops {

// The kinds of nodes, a bit each: which rules are worth trying.
using Shapes = std::uint32_t;
Shapes shape_of(const Expr& expr);

struct SimplifyRule {
  std::string_view name;
  std::string_view law;
  Shapes shapes;  // of the nodes on which it may fire
  Expr (*apply)(const Expr& expr, const Bounds& bounds);
};

std::span<const SimplifyRule> simplify_rules();  // in the order in which they are tried

// Whether collecting the terms of a sum would change nothing, as of nearly all sums. False of some that it would not
// change either. Precondition: dtype int64, is_linear_op().
bool is_collected(const Expr& sum);

}  // namespace dovetail::loops
