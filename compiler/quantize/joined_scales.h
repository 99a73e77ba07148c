// Concatenations give all their parts the same scale. A part whose values are small compared with another part's
// (scores from 0 to 1 next to boxes from 0 to 316) gets only a few of the 256 steps, or none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/passes/qdq/arithmetic.h"
#include "compiler/quantize/insert_qdq.h"
#include "compiler/quantize/ranges.h"

namespace dovetail::quantize {

struct LostPart {
  std::string node, operand;        // the Concat, and the operand
  std::int64_t axis = 0;            // axis of the result
  std::int64_t begin = 0, end = 0;  // the operand's range along the axis
  double least = 0, greatest = 0;   // range of the operand's values
  double steps = 0;                 // how many of the 255 steps of the common scale the operand's range covers
  bool node_stays_float = false;    // only outputs of the model follow, so each part keeps its own scale
};

// The operands that cover fewer than 16 steps of their Concat's scale, in execution order. `ranges`: of all values in
// `places`.
std::vector<LostPart> find_lost_parts(const graph::Graph& graph, const Places& places,
                                      const std::map<graph::ValueId, Observation>& observations,
                                      const std::map<graph::ValueId, passes::qdq::Quantization>& ranges);

}  // namespace dovetail::quantize
