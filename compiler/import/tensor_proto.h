// Tensors of the ONNX format as arrays. Sizes are checked before anything is allocated: a file cannot make us hold more
// than it holds itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/import/external_data.h"

namespace dovetail::onnx {
class Tensor;
}

namespace dovetail::import {

// A single tensor may have at most this many bytes, and no more than base/memory_limit.h allows; a larger one is taken
// for a damaged file.
inline constexpr std::int64_t kTensorBytesLimit = std::int64_t{1} << 34;

// Bytes of a tensor of this type; an error where an extent is negative, the product overflows or the limit is passed.
Result<std::int64_t> tensor_bytes(DType dtype, const Shape& shape, const std::string& where);

Result<NdArray> to_ndarray(const onnx::Tensor& tensor, const std::string& where, ExternalData& external);

// Of a tensor whose data lie in a file of their own: the same for tensors of the same elements, and nothing for others
// or where it cannot be read.
std::optional<std::string> external_identity(const onnx::Tensor& tensor, const ExternalData& external);

}  // namespace dovetail::import
