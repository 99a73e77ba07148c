// The structure of an ONNX graph, as written: values, constants, nodes and their links, without inferring types or
// interpreting operators.
#pragma once

#include <string>

#include "compiler/import/control_flow.h"
#include "compiler/import/onnx.h"

namespace dovetail::onnx {
struct Model;
}

namespace dovetail::import {

// Inputs carry the shapes of the file with symbolic extents bound (input_shapes.h); values that nodes produce have no
// meaningful type yet. Nodes with subgraphs are noted in `flow`, which refers to the model.
Result<Imported> read_graph(const onnx::Model& model, const std::string& where, const ImportOptions& options,
                            ControlFlow& flow);

}  // namespace dovetail::import
