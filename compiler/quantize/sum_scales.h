// Scales of sums: where the scales of two operands are in the ratio of two integers up to 127, their sum is one of
// integers, without an error and with one rounding (docs/reference/quantization.md).
#pragma once

#include <map>

#include "compiler/graph/graph.h"
#include "compiler/passes/qdq/arithmetic.h"
#include "compiler/quantize/insert_qdq.h"

namespace dovetail::quantize {

// Raises scales of `ranges`, those of places.observed, until the operands of Adds and Subs have such ratios; a raised
// scale grows by at most a 64th for each sum. Sums whose operands have too different scales, or that form a cycle with
// other sums, may stay without.
void relate_sums(const graph::Graph& graph, const Places& places,
                 std::map<graph::ValueId, passes::qdq::Quantization>& ranges);

}  // namespace dovetail::quantize
