// Maps element types to C++ types.
#pragma once

#include "base/dtype.h"
#include "base/ndarray.h"
#include "loops/scalar/element.h"

namespace dovetail::loops {

// Calls f.template operator()<Element>() for the element of the type.
template <typename F>
auto with_element(DType dtype, const F& f) {
  switch (dtype) {
    case DType::int8: return f.template operator()<Plain<std::int8_t>>();
    case DType::uint8: return f.template operator()<Plain<std::uint8_t>>();
    case DType::int16: return f.template operator()<Plain<std::int16_t>>();
    case DType::uint16: return f.template operator()<Plain<std::uint16_t>>();
    case DType::int32: return f.template operator()<Plain<std::int32_t>>();
    case DType::uint32: return f.template operator()<Plain<std::uint32_t>>();
    case DType::int64: return f.template operator()<Plain<std::int64_t>>();
    case DType::uint64: return f.template operator()<Plain<std::uint64_t>>();
    case DType::float16: return f.template operator()<Float16>();
    case DType::bfloat16: return f.template operator()<BFloat16>();
    case DType::float32: return f.template operator()<Plain<float>>();
    case DType::float64: return f.template operator()<Plain<double>>();
    case DType::boolean: break;
  }
  return f.template operator()<Bool>();
}

}  // namespace dovetail::loops
