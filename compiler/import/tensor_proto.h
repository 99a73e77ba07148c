// Tensors of the ONNX format as arrays. Sizes are checked before anything is allocated: a file cannot cause allocations
// larger than its own data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/import/external_data.h"

namespace dovetail::onnx {
struct Tensor;
}

namespace dovetail::import {

// Maximum size of a single tensor in bytes, subject to base/memory_limit.h; a larger one means a damaged file.
inline constexpr std::int64_t kTensorBytesLimit = std::int64_t{1} << 34;

// Bytes of a tensor of this type; an error if an extent is negative, the product overflows or the limit is exceeded.
Result<std::int64_t> tensor_bytes(DType dtype, const Shape& shape, const std::string& where);

Result<NdArray> to_ndarray(const onnx::Tensor& tensor, const std::string& where, ExternalData& external);

// Identifies a tensor's external data: equal for tensors with the same elements in the same place; nothing for tensors
// without external data or if the file cannot be read.
std::optional<std::string> external_identity(const onnx::Tensor& tensor, const ExternalData& external);

}  // namespace dovetail::import
