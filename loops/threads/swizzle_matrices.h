// The layout of matrices that a unit of the machine reads from shared memory itself (calls with CoreMatrix).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "loops/threads/box_copies.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

// Rows of a matrix that `later` calls of the kernel read are cut into panels of 128 bytes (64 or 32, where that is all
// they have), and the 16-byte pieces of eight rows are exchanged so that no two of a column lie in the same banks. With
// e elements in 16 bytes, a buffer [.., r, c] becomes, as an index map,
//
//   .., c / (8 * e), r, (c / e % 8) ^ (r % 8), c % e                                   of 128 bytes
//
// Columns are what lies side by side: the depth, or, where a matrix is stored the other way round, its rows. All other
// accesses follow; the calls get what the unit must be told. The copy of a box becomes one for each panel, of at most
// `boxes.most_extent` rows. Errors: a matrix that is not made of whole panels and
// groups of eight rows, or that the calls do not begin at one.
Result<void> swizzle_matrices(ThreadKernel& kernel, const std::vector<WarpOperation>& operations, const Bounds& bounds,
                              const std::string& where, const BoxCopies& boxes = {});

}  // namespace dovetail::loops
