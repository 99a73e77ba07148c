// Static shapes for the graph inputs: extents from the file or the options, and 1 for a symbolic batch.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/onnx.h"

namespace dovetail::onnx {
struct ValueInfo;
}

namespace dovetail::import {

// One type per input, in order. Notes name each assumption. All unknown extents are reported together.
Result<std::vector<graph::TensorType>> bind_input_shapes(const std::vector<const onnx::ValueInfo*>& inputs,
                                                         const std::string& where, const ImportOptions& options,
                                                         std::vector<std::string>& notes);

}  // namespace dovetail::import
