// What passes share: a pass is a function Graph -> Graph that says what it changed. The pipeline
// (compiler/pipeline.cpp) dumps, times and verifies; a pass does only its own work.
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

// The compiler executes nothing by itself: constant folding asks the caller (default: the loop-program interpreter).
using Evaluate =
    std::function<Result<std::vector<NdArray>>(const loops::Program& program, std::span<const NdArray> inputs)>;
Evaluate interpreter_evaluate();

// How far optimization may go; each pass names the least level at which it runs (compiler/pipeline.cpp).
enum class Level : std::uint8_t {
  needed,    // 0: what running needs, constants and integers: to see the model as it came
  exact,     // 1: only what keeps every bit of every value, infinities and NaN included
  tolerant,  // 2: also what rounds differently, within the tolerance of the operators concerned. The default
  trading,   // 3: also what trades accuracy or special values for speed: reciprocals for quotients, x * 0
  named,     // no level: what only some targets gain by, from 2 on where all that are asked for do, or --pass names it
};

struct PassContext {
  Evaluate evaluate = interpreter_evaluate();
  Level level = Level::tolerant;
  // What constant folding may spend on one graph: expressions evaluated (an interpreter does some 10^8 a second), and
  // bytes of results beyond those of their operands. A model of a few bytes can ask for any number of both.
  double evaluation_steps = 1e10;
  std::int64_t folded_bytes = std::int64_t{1} << 30;
};

struct PassOutcome {
  int changes = 0;                 // 0: the graph is untouched
  std::vector<std::string> notes;  // for the report: what was folded, what was left and why
  // How far results may be from those of the graph before, as a part of a tensor's largest value, where that is more
  // than the rounding of its operators: where the graph before rounds badly itself.
  double tolerance = 0;
};

}  // namespace dovetail::passes
