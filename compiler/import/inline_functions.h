// Functions of a model (onnx.FunctionProto): nodes that call one become its nodes, so that the rest of the importer
// sees operators only.
#pragma once

#include <string>

#include "base/result.h"

namespace dovetail::onnx {
class Model;
}

namespace dovetail::import {

// Replaces the calls, those in functions among them. Error: functions that call themselves, more nodes than a graph may
// have, or a function in whose operator set an operator has another version than in the model's.
Result<void> inline_functions(onnx::Model& model, const std::string& where);

}  // namespace dovetail::import
