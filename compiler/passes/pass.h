// What passes share: a pass is a function Graph -> Graph that says what it changed. The pipeline (compiler/pipeline.cpp) dumps, times and
// verifies; a pass does only its own work.
#pragma once

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
using Evaluate = std::function<Result<std::vector<NdArray>>(const loops::Program& program, std::span<const NdArray> inputs)>;
Evaluate interpreter_evaluate();

struct PassContext {
  Evaluate evaluate = interpreter_evaluate();
};

struct PassOutcome {
  int changes = 0;                   // 0: the graph is untouched
  std::vector<std::string> notes;    // for the report: what was folded, what was left and why
};

}  // namespace dovetail::passes
