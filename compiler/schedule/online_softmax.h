// Sums weighted by a softmax, as in attention, which can be computed tile by tile along a row.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

// Five consecutive top-level nests. With i a row (the last of its iterators are the rows of `weighted`, those before a
// batch), n in the row, and x any value of both:
//
//   largest[i] = max x(i, n),  exp[i, n] = exp(x(i, n) - largest[i]),  sum[i] = sum exp[i, n]
//   weighted[i, e] = sum f(exp[i, n]) * v(i, n, e)                 v does not move with the last of i
//   last: y[...] = g(weighted[i, e], sum[i])
struct WeightedSoftmax {
  Path largest, exp, sum, weighted, last;
  Contraction product;  // of weighted: `left` is f(exp)
  loops::Expr x;        // in iterators of exp
  std::size_t batch = 0;
  std::int64_t rows = 1, columns = 1, width = 1;  // of i's last, n, e
  DType type;                                     // of x
};

// Error: block `weighted` is not of that form, or its nests are not in the form of the operator's definition.
Result<WeightedSoftmax> require_weighted_softmax(const loops::Program& program, std::string_view weighted,
                                                 std::string_view primitive);

}  // namespace dovetail::schedule
