#include "compiler/target/cuda/lower.h"

#include "loops/core/compact.h"
#include "loops/core/dissolve_blocks.h"
#include "loops/threads/lower_to_threads.h"

namespace dovetail::cuda {

Result<loops::ThreadProgram> lower(const loops::Program& program, const Gpu& gpu) {
  DOVETAIL_TRY(check_loops(program, kLoopSupport));
  return loops::lower_to_threads(loops::compact_buffers(loops::dissolve_blocks(program, {}), {0, kBankBytes}),
                                 program.name, {gpu.shared_bytes, gpu.local_bytes});
}

}  // namespace dovetail::cuda
