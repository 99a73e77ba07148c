// Where elements of a buffer lie: which are neighbors in memory, and at which addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "loops/ir.h"
#include "loops/linear.h"
#include "loops/simplify.h"

namespace dovetail::loops {

// Every buffer that kernels touch begins at a multiple of so many bytes: parameters and the workspace as the memory of
// the device is given out (bundle::kTensorAlignment), what a block shares and what a thread keeps as it is declared.
inline constexpr std::int64_t kBufferAlignment = 16;

// From the buffer's first element, in elements. Precondition: indices are of type int64.
Linear offset_of(const BufferNode& buffer, const std::vector<Expr>& indices, const Bounds& bounds);

// The largest number of elements, at most `most_bytes` together and a divisor of `extent`, that lie side by side at an
// address which is a multiple of their bytes, where `var` is a multiple of that number and goes on from there: a power
// of two. 0: `var` does not move the offset from one neighbor to the next.
std::int64_t aligned_neighbors(const BufferNode& buffer, const Linear& offset, const VarNode* var, std::int64_t extent,
                               std::int64_t most_bytes);

}  // namespace dovetail::loops
