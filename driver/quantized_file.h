// The ONNX file of a quantized graph. The graph was made with the batch bound to 1; where the float model leaves its
// batch open, the file does too, if no shape or constant inside depends on it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/import/onnx.h"

namespace dovetail::driver {

struct QuantizedFile {
  std::vector<std::byte> bytes;
  std::string note;  // why the batch is fixed, although that of the float model is open; else empty
};

// `path` and `options`: with which the float model was imported as `model`. Errors: those of export_onnx().
Result<QuantizedFile> quantized_file(const graph::Graph& quantized, const import::Imported& model,
                                     const std::filesystem::path& path, const import::ImportOptions& options,
                                     const std::string& where, const std::map<std::string, std::string>& metadata);

}  // namespace dovetail::driver
