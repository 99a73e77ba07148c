// Truncates outputs whose extent along an axis depends on values to the elements that a run made.
#pragma once

#include <cstdint>

#include "base/ndarray.h"

namespace dovetail::runtime {

// The first `count` elements along the axis. Preconditions: the array has that axis, 0 <= count <= its extent.
NdArray first_along(const NdArray& array, std::size_t axis, std::int64_t count);

}  // namespace dovetail::runtime
