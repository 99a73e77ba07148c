#include "runtime/cut.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace dovetail::runtime {

NdArray first_along(const NdArray& array, std::size_t axis, std::int64_t count) {
  Shape shape = array.shape();
  DOVETAIL_CHECK(axis < shape.size() && count >= 0 && count <= shape[axis], "the array must contain the elements");
  if (shape[axis] == count) return array;
  shape[axis] = count;
  NdArray result(array.dtype(), shape);
  std::size_t rows = 1;  // number of contiguous pieces
  for (std::size_t d = 0; d < axis; ++d) rows *= static_cast<std::size_t>(shape[d]);
  const auto from = array.bytes(), to = std::as_const(result).bytes();
  if (to.empty()) return result;
  const std::size_t stride = from.size() / rows, piece = to.size() / rows;
  std::byte* at = result.bytes().data();
  for (std::size_t row = 0; row < rows; ++row, at += piece) std::memcpy(at, from.data() + row * stride, piece);
  return result;
}

}  // namespace dovetail::runtime
