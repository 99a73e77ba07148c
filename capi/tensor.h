// Between DLPack's tensors and the kit's arrays.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "capi/callbacks.h"
#include "capi/include/dovetail.h"

namespace dovetail::capi {

DLDataType dl_dtype(DType dtype);

// A checked view: contiguous, in host memory, of a type that the kit has.
struct View {
  DType dtype = DType::float32;
  Shape shape;
  std::byte* data = nullptr;
  std::size_t bytes = 0;

  std::span<const std::byte> span() const { return {data, bytes}; }
  NdArray copy() const { return {dtype, shape, span()}; }
};
Result<View> view_of(const DLTensor* tensor, std::string_view argument);

// Copies of the tensors by name. Errors: null, a name that occurs twice, a view that does not fit.
Result<std::map<std::string, NdArray>> arrays_of(const dvt_named_tensor* tensors, std::size_t count,
                                                 std::string_view argument);

// The caller receives the arrays, in memory of its allocator if it has one.
Result<dvt_tensors*> tensors_of(std::vector<std::pair<std::string, NdArray>> arrays, const Callbacks& callbacks);

}  // namespace dovetail::capi
