// The interface of passes: a pass is a function Graph -> Graph that reports its changes. The pipeline
// (compiler/pipeline.cpp) dumps, times and verifies; a pass only changes the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "loops/ir.h"

namespace dovetail::passes {

// Evaluates a program. The compiler does not execute programs itself: constant folding calls a function of the caller
// (default: the interpreter of loop programs).
using Evaluate =
    std::function<Result<std::vector<NdArray>>(const loops::Program& program, std::span<const NdArray> inputs)>;
Evaluate interpreter_evaluate();

// Optimization levels. Each pass has the least level at which it runs (compiler/pipeline.cpp).
enum class Level : std::uint8_t {
  needed,    // 0: only what running needs (constants, integer forms), to see the model as it was given
  exact,     // 1: only passes that keep every bit of every value, including infinities and NaN
  tolerant,  // 2: also passes that change rounding, within the tolerance of the operators. The default
  trading,   // 3: also passes that trade accuracy or special values for speed: reciprocals for quotients, x * 0
  named,     // no level: helps only some targets; runs from level 2 if it helps all requested targets, or with --pass
};

struct PassContext {
  Evaluate evaluate = interpreter_evaluate();
  Level level = Level::tolerant;
  // The limits of constant folding for a graph: evaluated expressions (an interpreter evaluates about 10^8 per second),
  // and bytes of results beyond those of their operands. Without limits, a small model could require any amount of
  // both.
  double evaluation_steps = 1e10;
  std::int64_t folded_bytes = std::int64_t{1} << 30;
};

struct PassOutcome {
  int changes = 0;                 // 0: the graph is unchanged
  std::vector<std::string> notes;  // for the report: nodes that were changed or kept, with the reason
  // The additional tolerance of results relative to a tensor's largest value, if the graph before the pass has larger
  // rounding errors than its operators usually have.
  double tolerance = 0;
};

}  // namespace dovetail::passes
