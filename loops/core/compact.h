// Shrinks buffers to the elements that are live at a time. A buffer that is filled and read within one iteration of a
// loop needs room for that iteration only; compute_at leaves such buffers at their full shape, because a schedule
// refers to the elements of the whole tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "loops/core/core.h"

namespace dovetail::loops {

struct CompactOptions {
  // Pads rows of buffers in scope "register" that are longer than a vector of this many bytes to a multiple of it: each
  // last vector then has its own storage, even if not all of its lanes are used. 0: no padding.
  std::int64_t vector_bytes = 0;
  // Pads rows of buffers in scope "shared" by this much: neighbors in a column are then in different banks of the
  // memory that the threads of a block share.
  std::int64_t bank_bytes = 0;
  // True for calls whose operands in shared memory have a special layout (loops/threads/swizzle_matrices.h): their rows
  // are not padded. Null: no such calls.
  std::function<bool(const std::string& intrinsic)> keeps_rows = nullptr;
};

// Only temporary buffers change. A buffer is shrunk over the innermost loops around all its uses for which every
// element that one iteration reads is in the box that the same iteration writes.
CoreProgram compact_buffers(CoreProgram core, const CompactOptions& options = {});

}  // namespace dovetail::loops
