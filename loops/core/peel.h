// Peeling: splits a loop into iterations for which a condition is known to be true or false, and the others, so that
// interior tiles run without conditions.
//
//   for o in 4 { for i in 16 { if o * 16 + i < 50 { S(o * 16 + i) } } }
//
// becomes
//
//   for o in 3 { for i in 16 { S(o * 16 + i) } }
//   for i in 2 { S(48 + i) }
//
// Conditions are those of `if` (except those around long nests), the comparisons in conditions of selects, and `a <= b`
// for min(a, b) and max(a, b) of indices. Outer loops are split first. Each split makes at most a head, an interior and
// a tail, which may be split again; they run in the order of the loop, so all values stay bit-identical. A parallel
// loop stays one loop, and its body gets a version for each part. Vectorized and unrolled loops are split only where
// that decides all their conditions. Threads, virtual threads and pipelines are not split, and neither are loops around
// a parallel one.
#pragma once

#include <cstdint>
#include <limits>

#include "loops/core/core.h"

namespace dovetail::loops {

struct PeelOptions {
  // The limit for one outermost loop, with unrolled loops expanded. A split that would exceed it is not made, and the
  // condition stays.
  std::int64_t max_statements = 512;
  // An `if` around this many executed statements costs almost nothing: loops are not split for its condition.
  std::int64_t long_nest = std::numeric_limits<std::int64_t>::max();
};

CoreProgram peel_tails(const CoreProgram& program, const PeelOptions& options = {});

}  // namespace dovetail::loops
