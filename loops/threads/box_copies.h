// Statements that copy a box of a tensor to shared memory: what a unit of the machine does in one instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "loops/core/core.h"
#include "loops/threads/fetch.h"

namespace dovetail::loops {

// What the unit takes.
struct BoxCopies {
  std::int64_t alignment_bytes = 16;  // of strides of a tensor, and of a box's rows
  std::int64_t most_extent = 256;     // of a box
  std::size_t most_rank = 5;
};

// A fetch by all threads together fills the last two dimensions of its buffer, each element once, from elements that
// lie apart in the same way in two dimensions of a tensor:
//
//   for threads, for own loops { to[place, r, c] = inside ? from[y + r, x + c] : 0 }      r, c: parts of the loops
//   ==>  copy the box of R x C elements from (y, x) on
//
// where `inside` says no more than that the element lies in the tensor, so that the unit's own rule leaves the same
// zeros. Dimensions of the tensor may be several of the buffer that lie one in the other; its last one is the box's.
// nullopt: it is not of that form, or the unit does not take it. `signals` and `signal` are left open.
std::optional<CoreBoxCopy> as_box_copy(const Chain& fetch, const Bounds& bounds, const BoxCopies& facts);

std::int64_t bytes_of_box(const CoreBoxCopy& copy);

}  // namespace dovetail::loops
