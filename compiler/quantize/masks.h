// Masks of attention: a sum of scores and of a tensor that is 0 where a score is visible, and very low elsewhere, has
// no range that int8 could represent.
#pragma once

#include "compiler/graph/graph.h"

namespace dovetail::quantize {

// Turns Softmax(scores + mask) into Softmax(Where(visible, scores, low)), if the mask is computed from booleans or from
// integers that are 0 or 1, as exporters write attention masks: (1 - mask) * low, and Where(condition, 0, low).
void hide_scores_by_condition(graph::Graph& graph);

}  // namespace dovetail::quantize
