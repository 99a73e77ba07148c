// Names of ONNX's element types, including those that base/dtype.h lacks.
#pragma once

#include <cstdint>
#include <string>

namespace dovetail {

// "float32", "float8e4m3fn (17)", "number 99".
std::string onnx_type_name(std::int64_t number);

}  // namespace dovetail
