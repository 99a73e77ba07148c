// Memory layout of elements of a buffer: which are neighbors in memory, and at which addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "loops/ir.h"
#include "loops/linear.h"
#include "loops/simplify.h"

namespace dovetail::loops {

// Every buffer that kernels access begins at a multiple of this many bytes: parameters and the workspace through the
// device's allocator (bundle::kTensorAlignment), shared and thread-private buffers through their declarations.
inline constexpr std::int64_t kBufferAlignment = 16;

// Offset from the buffer's first element, in elements. Precondition: indices are of type int64.
Linear offset_of(const BufferNode& buffer, const std::vector<Expr>& indices, const Bounds& bounds);

// The largest number of elements, at most `most_bytes` together and a divisor of `extent`, that are contiguous at an
// address which is a multiple of their bytes, when `var` is a multiple of that number, a power of two, and counts up
// from there. 0: an increment of `var` does not move the offset to the next element.
std::int64_t aligned_neighbors(const BufferNode& buffer, const Linear& offset, const VarNode* var, std::int64_t extent,
                               std::int64_t most_bytes);

}  // namespace dovetail::loops
