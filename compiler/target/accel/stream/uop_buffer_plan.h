// Plans the places of kernels in the micro-op buffer while a stream runs, and their loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dovetail::accel {

// A use of a kernel: by the instruction `at` of the stream, which belongs to the operation `node`.
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
  std::vector<std::uint64_t> places;  // place in the buffer of the kernel of each use
};

// `sizes`: sizes of the kernels, which are consecutive in the area. `uses`: in the stream's order. If all kernels fit,
// they are loaded at once, before the first use. Else kernels are loaded when they are missing, together with the
// following kernels in the area that the same operation uses; they replace the kernels that are used again latest.
// Precondition: no kernel is empty or larger than `depth`.
UopBufferPlan plan_uop_buffer(std::span<const std::uint64_t> sizes, std::span<const KernelUse> uses,
                              std::uint64_t depth);

}  // namespace dovetail::accel
