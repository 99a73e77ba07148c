// Programs whose loops are bound to blocks and threads (`bind`), lowered to kernels for a machine that runs them at
// once: what the code generator of a GPU makes text of, and what run_threads executes in adversarial orders.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "loops/core/core.h"
#include "loops/threads/warp_operation.h"

namespace dovetail::loops {

// One of "block.x" to "block.z" and "thread.x" to "thread.z" (compiler/schedule/thread_axes.h). `var` is a thread's own
// coordinate.
struct BoundAxis {
  std::string axis;
  Var var;
  std::int64_t extent = 1;
  bool is_block() const { return axis.starts_with("block."); }
};

// A nest of the program's top level. Kernels run one after the other, each on all that those before it have written.
struct ThreadKernel {
  std::string name;             // of the block that it stores last
  std::vector<BoundAxis> axes;  // those that loops were bound to; the others have one coordinate, 0
  // What each thread runs. No loop is of kind `thread`: their variables have become coordinates, and what lay in no
  // loop of an axis is done where that coordinate is 0.
  Core body;
  std::vector<Buffer> shared;  // one for all threads of a block
  std::vector<Buffer> local;   // one for each thread
  bool calls = false;          // operations of warps: thread.x and thread.y have a warp's extents (warp_operation.h)
  // Those of `shared` that units of the machine read by themselves: they begin at multiples of kMatrixAlignment.
  std::set<const BufferNode*> matrices = {};

  std::int64_t extent(std::string_view axis) const;  // 1 where nothing was bound to it
  std::int64_t blocks() const;
  std::int64_t threads() const;  // of a block

  // Where each of `shared` lies, and how much they take together, in bytes.
  struct SharedPlaces {
    std::vector<std::int64_t> offsets;
    std::int64_t bytes = 0;
  };
  SharedPlaces shared_places() const;
  std::int64_t alignment(const Buffer& shared) const;
};
inline constexpr std::int64_t kMatrixAlignment = 1024;

struct ThreadProgram {
  std::vector<ThreadKernel> kernels;
  std::vector<Buffer> workspace;                                 // in which kernels leave something for later ones
  Bounds bounds;                                                 // of all loop variables and coordinates
  std::shared_ptr<const std::vector<WarpOperation>> operations;  // that kernels call; null: none
};

// A barrier, a fence, a step of groups of copies or calls, a wait for a signal: what all threads of a block do.
bool is_synchronization(const Core& core);
bool has_synchronization(const Core& core);  // somewhere in it
// Kernels with their axes and buffers, in the notation of loop programs.
std::string to_string(const ThreadProgram& program);

}  // namespace dovetail::loops
