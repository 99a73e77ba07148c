// Operations that the 32 threads of a warp, or the warps of a group, execute together, each with a part of the
// operands: a back end has instructions for them, and run_threads executes their loop program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loops/core/core.h"
#include "loops/ir.h"

namespace dovetail::loops {

// Threads are numbered along thread.x, then thread.y, then thread.z. Kernels with warp operations have these extents in
// x and y, so that a warp consists of the threads with the same coordinate in z.
inline constexpr std::int64_t kLanesInX = 4, kLanesInY = 8;

// The mapping of an operand's elements to lanes and registers. A number is composed of parts of the element's indices,
// (index / divisor) % extent, outermost first; the parts determine each element's location without gap or overlap.
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
  std::vector<LaneMap> operands;  // in the order of its parameters; no parts for matrices that the unit reads directly
  // The number of threads that execute it: those of one warp, or of kWarpsOfGroup warps, whose lanes are numbered along
  // thread.z last.
  std::int64_t lanes() const { return LaneMap::count(operands[0].lanes); }
  // The operation is asynchronous, and reads its operands except the first directly from shared memory
  // (CoreCall::later).
  bool later = false;
  bool depth_inner = false;  // it reads only matrices whose depth is contiguous
};
inline constexpr std::int64_t kWarpsOfGroup = 4;

inline const WarpOperation* find_operation(const std::vector<WarpOperation>& operations, std::string_view name) {
  for (const WarpOperation& operation : operations)
    if (operation.name == name) return &operation;
  return nullptr;
}

}  // namespace dovetail::loops
