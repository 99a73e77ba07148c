// Which kernels are stored where in the micro-op buffer while a stream runs, and when they are loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dovetail::accel {

// A kernel's next use: the instruction `at` of the stream, which belongs to the operation `node`.
struct KernelUse {
  std::size_t at;
  int kernel, node;
};
// Before instruction `at`, micro-ops [from, from + count) of the area go to [to, to + count) of the buffer.
struct UopLoad {
  std::size_t at;
  std::uint64_t to, from, count;
};
struct UopBufferPlan {
  std::vector<UopLoad> loads;         // in order
  std::vector<std::uint64_t> places;  // of the kernel of each use, in the buffer
};

// `sizes`: of the kernels, which are after each other in the area in this order. `uses`: in the stream's order. All
// that fits is loaded at once, before the first use. Else kernels are loaded where they are missed, together with those
// after them in the area that the same operation uses; they take the place of what is used again latest.
// Precondition: no kernel is
// empty or larger than `depth`.
UopBufferPlan plan_uop_buffer(std::span<const std::uint64_t> sizes, std::span<const KernelUse> uses,
                              std::uint64_t depth);

}  // namespace dovetail::accel
