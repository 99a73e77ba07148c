// Types of all values, by the operators' own rules, with operands that must be known at compile time computed on the
// way.
#pragma once

#include <string>

#include "base/result.h"
#include "compiler/import/control_flow.h"
#include "compiler/import/onnx.h"
#include "compiler/passes/pass.h"

namespace dovetail::import {

// Normalizes each node (normalize.h), then infers its types, in execution order. Constant subgraphs are evaluated only
// where an operator must know their value (the shape of a Reshape, say); graph inputs on the way become constants where
// the options give their values. Nodes behind one that fails are skipped;
// everything else that is wrong is listed. Precondition: the graph verifies.
Result<void> infer_types(Imported& imported, const ImportOptions& options, const std::string& where,
                         const passes::Evaluate& evaluate, ControlFlow& flow);

}  // namespace dovetail::import
