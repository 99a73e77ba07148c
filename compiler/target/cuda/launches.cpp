#include "compiler/target/cuda/launches.h"

#include <utility>

namespace dovetail::cuda {

std::vector<bundle::CudaLaunch> launches_of(const Source& source) {
  std::vector<bundle::CudaLaunch> list;
  for (const Launch& launch : source.launches) {
    bundle::CudaLaunch next{launch.symbol, {}, {}, {}, launch.reports, static_cast<std::uint64_t>(launch.shared_bytes)};
    for (std::size_t i = 0; i < 3; ++i) {
      next.grid[i] = static_cast<std::uint64_t>(launch.grid[i]);
      next.block[i] = static_cast<std::uint64_t>(launch.block[i]);
    }
    for (const KernelOperand& operand : launch.operands)
      next.operands.push_back({operand.workspace, operand.index, operand.offset});
    list.push_back(std::move(next));
  }
  return list;
}

}  // namespace dovetail::cuda
