// What the iterations of a loop read of a buffer, as a piece of its memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "loops/core/core.h"
#include "loops/linear.h"

namespace dovetail::cpu {

// The elements [first, last] from offset `outer` on, an expression of the variables around. `count`: of those that are
// read there, each as often as statements do.
struct Reach {
  loops::Buffer buffer;
  loops::Linear outer;
  std::int64_t first = 0, last = 0, count = 0;

  std::int64_t moves_by(const loops::Var& var) const;  // `outer`, when `var` is one more; 0 where it is no plain term
  bool dense() const { return 4 * count >= 3 * (last + 1 - first); }  // most of the piece is read
};

// Which reads count: of the buffer, by a store or a call.
using Wanted = std::function<bool(const loops::Core& reader, const loops::BufferNode& buffer)>;

// Of one iteration, whose `body` this is. A buffer that statements read by other indices than sums of the loops below,
// or by several that move apart, is left out.
std::vector<Reach> reaches(const loops::CoreProgram& core, const loops::Core& body, const Wanted& wanted);

}  // namespace dovetail::cpu
