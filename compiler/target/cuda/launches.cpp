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
    const auto operand_of = [](const KernelOperand& operand) {
      return bundle::CudaOperand{operand.workspace, operand.index, operand.offset};
    };
    for (const KernelOperand& operand : launch.operands) next.operands.push_back(operand_of(operand));
    for (const BoxedTensor& boxed : launch.boxes)
      next.tensor_maps.push_back({operand_of(boxed.operand),
                                  static_cast<std::uint64_t>(size_bytes(boxed.type)),
                                  {boxed.extents.begin(), boxed.extents.end()},
                                  {boxed.box.begin(), boxed.box.end()},
                                  static_cast<std::uint64_t>(boxed.swizzle)});
    list.push_back(std::move(next));
  }
  return list;
}

}  // namespace dovetail::cuda
