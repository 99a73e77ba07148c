#include "compiler/target/host/cost.h"

#include <algorithm>

namespace dovetail::host {

double estimate_seconds(std::size_t kernels, std::uint64_t operations, std::uint64_t bytes,
                        double operations_per_second) {
  return kKernelSeconds * static_cast<double>(kernels) +
         std::max(static_cast<double>(operations) / operations_per_second,
                  static_cast<double>(bytes) / kMemoryBytesPerSecond);
}

}  // namespace dovetail::host
