// The layout of matrices that a hardware unit reads directly from shared memory (calls with CoreMatrix).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "loops/threads/box_copies.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

// Rows of a matrix that `later` calls of the kernel read are divided into panels of 128 bytes (64 or 32 for shorter
// rows), and the 16-byte chunks of eight rows are exchanged (swizzled) so that no two chunks of a column are in the
// same memory banks. With e elements in 16 bytes, a buffer [.., r, c] becomes, as an index map,
//
//   .., c / (8 * e), r, (c / e % 8) ^ (r % 8), c % e                                   of 128 bytes
//
// Columns are the contiguous dimension: the depth, or, if a matrix is stored in the other orientation, its rows. All
// other accesses are rewritten to match; the calls get the layout that the unit needs. The copy of a box becomes one
// for each panel, of at most `boxes.most_extent` rows. Errors: a matrix that does not consist of whole panels and
// groups of eight rows, or calls that do not begin at such a group.
Result<void> swizzle_matrices(ThreadKernel& kernel, const std::vector<WarpOperation>& operations, const Bounds& bounds,
                              const std::string& where, const BoxCopies& boxes = {});

}  // namespace dovetail::loops
