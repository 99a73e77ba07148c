// The part of a buffer's memory that the iterations of a loop read.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "loops/core/core.h"
#include "loops/linear.h"

namespace dovetail::cpu {

// The elements [first, last] relative to `outer`, an expression of the enclosing variables. `count`: number of elements
// read in it, with repetition.
struct Reach {
  loops::Buffer buffer;
  loops::Linear outer;
  std::int64_t first = 0, last = 0, count = 0;

  std::int64_t moves_by(const loops::Var& var) const;  // change of `outer` per step of `var`; 0 if not linear
  bool dense() const { return 4 * count >= 3 * (last + 1 - first); }  // most of the range is read
};

// Selects the reads that count: of this buffer, by this store or call.
using ReadFilter = std::function<bool(const loops::Core& reader, const loops::BufferNode& buffer)>;

// The reads of one iteration with this `body`. Buffers read with indices other than sums of inner loops, or by several
// loads that move differently, are omitted.
std::vector<Reach> reaches(const loops::CoreProgram& core, const loops::Core& body, const ReadFilter& counts);

}  // namespace dovetail::cpu
