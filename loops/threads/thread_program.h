// Programs whose loops are bound to blocks and threads (`bind`), lowered to kernels for a machine that runs them
// concurrently: the input of a GPU's code generator and of run_threads, which executes it in adversarial orders.
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

// One of "block.x" to "block.z" and "thread.x" to "thread.z" (compiler/schedule/thread_axes.h). `var` is the thread's
// coordinate.
struct BoundAxis {
  std::string axis;
  Var var;
  std::int64_t extent = 1;
  bool is_block() const { return axis.starts_with("block."); }
};

// A top-level nest of the program. Kernels run one after the other, and each sees everything that earlier ones have
// written.
struct ThreadKernel {
  std::string name;             // name of the block that it stores last
  std::vector<BoundAxis> axes;  // axes that loops were bound to; the others have the single coordinate 0
  // The code of each thread. No loop is of kind `thread`: their variables have become coordinates, and statements in no
  // loop of an axis run only where that coordinate is 0.
  Core body;
  std::vector<Buffer> shared;  // shared by all threads of a block
  std::vector<Buffer> local;   // private to each thread
  bool calls = false;          // operations of warps: thread.x and thread.y have a warp's extents (warp_operation.h)
  // The subset of `shared` that hardware units read directly: they begin at multiples of kMatrixAlignment.
  std::set<const BufferNode*> matrices = {};

  std::int64_t extent(std::string_view axis) const;  // 1 if no loop was bound to it
  std::int64_t blocks() const;
  std::int64_t threads() const;  // number of threads in a block

  // The address of each of `shared`, and their total size, in bytes.
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
  std::vector<Buffer> workspace;                                 // buffers in which kernels pass data to later ones
  Bounds bounds;                                                 // of all loop variables and coordinates
  std::shared_ptr<const std::vector<WarpOperation>> operations;  // operations that kernels call; null: none
};

// Synchronization that all threads of a block execute: a barrier, a fence, a step of groups of copies or calls, a wait
// for a signal.
bool is_synchronization(const Core& core);
bool has_synchronization(const Core& core);  // anywhere in it
// Kernels with their axes and buffers, in the notation of loop programs.
std::string to_string(const ThreadProgram& program);

}  // namespace dovetail::loops
