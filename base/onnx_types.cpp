#include "base/onnx_types.h"

#include <climits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/dtype.h"

namespace dovetail {

std::string onnx_type_name(std::int64_t number) {
  constexpr std::pair<int, std::string_view> kLacking[] = {
      {0, "undefined"},       {8, "string"},      {14, "complex64"},      {15, "complex128"}, {17, "float8e4m3fn"},
      {18, "float8e4m3fnuz"}, {19, "float8e5m2"}, {20, "float8e5m2fnuz"}, {21, "uint4"},      {22, "int4"},
      {23, "float4e2m1"},     {24, "float8e8m0"}, {25, "uint2"},          {26, "int2"}};
  for (const auto& [known, name] : kLacking)
    if (known == number) return fmt::format("{} ({})", name, number);
  if (number > 0 && number <= INT_MAX)
    if (const auto dtype = dtype_from_onnx(static_cast<int>(number))) return std::string(name(*dtype));
  return fmt::format("number {}", number);
}

}  // namespace dovetail
