// Tensors of the ONNX format as arrays. Sizes are checked before anything is allocated: a file cannot make us hold more
// than it holds itself.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/ndarray.h"
#include "base/result.h"

namespace dovetail::onnx {
class Tensor;
}

namespace dovetail::import {

// A single tensor may have at most this many bytes; a larger one is taken for a damaged file.
inline constexpr std::int64_t kTensorBytesLimit = std::int64_t{1} << 34;

// Bytes of a tensor of this type; an error where an extent is negative, the product overflows or the limit is passed.
Result<std::int64_t> tensor_bytes(DType dtype, const Shape& shape, const std::string& where);

// `external_folder`: where external data may lie; empty: nowhere.
Result<NdArray> to_ndarray(const onnx::Tensor& tensor, const std::string& where,
                           const std::filesystem::path& external_folder);

// "float8e4m3fn (17)" for numbers of the format that we do not hold.
std::string onnx_dtype_name(int number);

}  // namespace dovetail::import
