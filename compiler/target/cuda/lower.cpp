#include "compiler/target/cuda/lower.h"

#include <algorithm>
#include <string>

#include "compiler/target/cuda/intrinsics.h"
#include "loops/core/compact.h"
#include "loops/core/dissolve_blocks.h"
#include "loops/threads/lower_to_threads.h"

namespace dovetail::cuda {

Result<loops::ThreadProgram> lower(const loops::Program& program, const Gpu& gpu) {
  DOVETAIL_TRY(check_loops(program, kLoopSupport));
  // Asynchronous copies came with compute capability 8.0.
  constexpr int kAsynchronous = 80;
  loops::ThreadLimits limits;
  limits.shared_bytes = gpu.shared_bytes;
  limits.local_bytes = gpu.local_bytes;
  limits.operations = std::shared_ptr<const std::vector<loops::WarpOperation>>(&warp_operations(), [](auto*) {});
  limits.pipeline.asynchronous = std::ranges::all_of(
      gpu.architectures, [](const std::string& name) { return architecture_number(name) >= kAsynchronous; });
  return loops::lower_to_threads(
      loops::compact_buffers(loops::dissolve_blocks(program, intrinsics(), loops::CallForm::kept), {0, kBankBytes}),
      program.name, limits);
}

}  // namespace dovetail::cuda
