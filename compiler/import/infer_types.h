// Types of all values, by the operators' rules; operands that must be known at compile time are evaluated.
#pragma once

#include <string>

#include "base/result.h"
#include "compiler/import/control_flow.h"
#include "compiler/import/onnx.h"
#include "compiler/passes/pass.h"

namespace dovetail::import {

// Normalizes each node (normalize.h), then infers its types, in execution order. Constant subgraphs are evaluated only
// if an operator needs their value (for example the shape of a Reshape); graph inputs that they depend on become
// constants if the options give their values. Nodes after one that fails are skipped; all other errors are reported.
// Precondition: the graph verifies.
Result<void> infer_types(Imported& imported, const ImportOptions& options, const std::string& where,
                         const passes::Evaluate& evaluate, ControlFlow& flow);

}  // namespace dovetail::import
