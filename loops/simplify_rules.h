// The simplifier's rules, one row each. A rule looks at a node whose children are simplified and returns what to put in its place, or null.
// Every row is brute-force tested (tests/unit/loops/simplify.cpp): a rule without a case in that test fails it.
#pragma once

#include <span>
#include <string_view>

#include "loops/simplify.h"

namespace dovetail::loops {

struct SimplifyRule {
  std::string_view name;
  std::string_view law;
  Expr (*apply)(const Expr& expr, const Bounds& bounds);
};

std::span<const SimplifyRule> simplify_rules();  // in the order in which they are tried

}  // namespace dovetail::loops
