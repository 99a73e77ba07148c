// Tensor data outside the model file. A model names files by relative paths; they must lie inside the model's own
// folder, links resolved, so that a model from elsewhere cannot read what it was not shipped with.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail::onnx {
class Tensor;
}

namespace dovetail::import {

// Exactly `bytes` bytes of the file that the tensor names.
Result<std::vector<std::byte>> read_external_data(const onnx::Tensor& tensor, std::int64_t bytes,
                                                  const std::string& where, const std::filesystem::path& folder);

}  // namespace dovetail::import
