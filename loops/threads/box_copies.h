// Recognizes statements that copy a box of a tensor to shared memory, which a hardware unit does in one instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "loops/core/core.h"
#include "loops/threads/fetch.h"

namespace dovetail::loops {

// The unit's limits.
struct BoxCopies {
  std::int64_t alignment_bytes = 16;  // for strides of a tensor, and rows of a box
  std::int64_t most_extent = 256;     // for each dimension of a box
  std::size_t most_rank = 5;
};

// A fetch by all threads together fills the last two dimensions of its buffer, each element once, from elements at
// regular strides in two dimensions of a tensor:
//
//   for threads, for own loops { to[place, r, c] = inside ? from[y + r, x + c] : 0 }      r, c: parts of the loops
//   ==>  copy the box of R x C elements from (y, x) on
//
// where `inside` is true exactly for elements within the tensor, so that the unit's own rule produces the same zeros. A
// dimension of the tensor may consist of several nested dimensions of the buffer; its last one is the box's. nullopt:
// the statement is not of that form, or the unit does not support it. `signals` and `signal` are not set.
std::optional<CoreBoxCopy> as_box_copy(const Chain& fetch, const Bounds& bounds, const BoxCopies& facts);

std::int64_t bytes_of_box(const CoreBoxCopy& copy);

}  // namespace dovetail::loops
