// Operations that the 32 threads of a warp, or the warps of a group, carry out together, each holding a part of the
// operands: what a back end has instructions for, and run_threads runs from its loop program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loops/core/core.h"
#include "loops/ir.h"

namespace dovetail::loops {

// Threads are numbered along thread.x, then thread.y, then thread.z. Kernels with warp operations have these extents
// in x and y, so that a warp is what has one coordinate in z.
inline constexpr std::int64_t kLanesInX = 4, kLanesInY = 8;

// Which lane has which element of an operand in which of its registers. A number is made of parts of the element's
// indices, (index / divisor) % extent, outermost first; the parts are each element's place without gap or overlap.
struct LaneMap {
  struct Part {
    std::size_t axis;
    std::int64_t divisor, extent;
  };
  std::vector<Part> lanes, registers;

  static std::int64_t number_of(const std::vector<Part>& parts, const std::vector<std::int64_t>& element) {
    std::int64_t number = 0;
    for (const Part& part : parts) number = number * part.extent + element[part.axis] / part.divisor % part.extent;
    return number;
  }
  static std::int64_t count(const std::vector<Part>& parts) {
    std::int64_t count = 1;
    for (const Part& part : parts) count *= part.extent;
    return count;
  }
};

struct WarpOperation {
  std::string name;
  Program semantics;              // one block nest without init; operand 0 is written, and may be read
  std::vector<LaneMap> operands;  // in the order of its parameters; of matrices that the unit reads itself: no parts
  // Threads that carry it out: a warp's, or of kWarpsOfGroup warps, whose lanes are numbered along thread.z last.
  std::int64_t lanes() const { return LaneMap::count(operands[0].lanes); }
  // It completes after its issue, and reads its operands but the first from shared memory by itself (CoreCall::later).
  bool later = false;
  bool depth_inner = false;  // it reads matrices whose depth lies side by side, and no others
};
inline constexpr std::int64_t kWarpsOfGroup = 4;

inline const WarpOperation* find_operation(const std::vector<WarpOperation>& operations, std::string_view name) {
  for (const WarpOperation& operation : operations)
    if (operation.name == name) return &operation;
  return nullptr;
}

}  // namespace dovetail::loops
