// Interval analysis, used by `bound` and the simplifier.
#pragma once

#include <optional>

#include "loops/linear.h"
#include "loops/simplify.h"

namespace dovetail::loops {

// Every integer expression has a range, at worst that of its type. A variable without bounds is assumed to be within
// +-2^40, like every index into memory: enough to rule out overflow (`x + 1 > x`), but never used to decide a value;
// `assumed` marks results that depend on it.
struct Range {
  std::int64_t min, max;
  bool assumed = false;
  bool single() const { return min == max && !assumed; }
  bool within(std::int64_t low, std::int64_t high) const { return !assumed && min >= low && max <= high; }
};

Range range_of(const Expr& expr, const Bounds& bounds);  // precondition: integer or bool
// nullopt: the sum may overflow int64, so that the form holds only modulo 2^64.
std::optional<Range> range_of(const Linear& linear, const Bounds& bounds);

}  // namespace dovetail::loops
