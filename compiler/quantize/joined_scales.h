// Concatenations give all their parts one scale. A part whose values are small compared with another part's (scores
// from 0 to 1 next to boxes from 0 to 316) keeps few steps of it, or none.
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
  std::string node, operand;        // the Concat, and the value that it joins to others
  std::int64_t axis = 0;            // of the result
  std::int64_t begin = 0, end = 0;  // where the operand is along it
  double least = 0, greatest = 0;   // of the operand's values
  double steps = 0;                 // that the operand's range has of the 255 of the common scale
  bool node_stays_float = false;    // nothing but outputs of the model follows, so that each part has its own scale
};

// The operands that have fewer than 16 steps of their Concat's scale, in execution order. `ranges`: of all values that
// `places` names.
std::vector<LostPart> find_lost_parts(const graph::Graph& graph, const Places& places,
                                      const std::map<graph::ValueId, Observation>& observations,
                                      const std::map<graph::ValueId, passes::qdq::Quantization>& ranges);

}  // namespace dovetail::quantize
