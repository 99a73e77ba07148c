// Functions of a model (onnx.FunctionProto): their calls are replaced by their nodes, so that the rest of the importer
// sees operators only.
#pragma once

#include <string>

#include "base/result.h"

namespace dovetail::onnx {
struct Model;
}

namespace dovetail::import {

// Replaces all calls, including calls within functions. Error: a function that calls itself, more nodes than a graph
// may have, or a function whose operator set has another version of an operator than the model's.
Result<void> inline_functions(onnx::Model& model, const std::string& where);

}  // namespace dovetail::import
