// Buffers shrunk to what is alive at a time. A buffer that is filled and read within one iteration of a loop needs room
// for that iteration only: compute_at leaves such buffers at their full shape, as a schedule speaks of the elements of
// the whole tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "loops/core/core.h"

namespace dovetail::loops {

struct CompactOptions {
  // Rows of buffers in scope "register" that are longer than a vector of so many bytes end at a multiple of it: their
  // last vector has a place of its own, also where not all of its lanes are used. 0: rows end where they end.
  std::int64_t vector_bytes = 0;
  // Rows of buffers in scope "shared" are so much longer than what they hold: neighbors in a column then lie in
  // different banks of the memory that the threads of a block share.
  std::int64_t bank_bytes = 0;
  // Calls whose operands in shared memory have a layout of their own (loops/threads/swizzle_matrices.h): their rows end
  // where they end. Null: none.
  std::function<bool(const std::string& intrinsic)> keeps_rows = nullptr;
};

// Only temporary buffers change. A buffer is shrunk over the innermost loops around all its uses for which every
// element that one iteration reads lies in the box that the same iteration writes.
CoreProgram compact_buffers(CoreProgram core, const CompactOptions& options = {});

}  // namespace dovetail::loops
