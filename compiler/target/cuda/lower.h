// From scheduled loop programs to kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/support/loop_support.h"
#include "loops/ir.h"
#include "loops/threads/thread_program.h"

namespace dovetail::cuda {

inline constexpr std::array kLoopKinds{loops::ForKind::thread, loops::ForKind::unrolled, loops::ForKind::pipelined};
inline constexpr std::int64_t kMostStages = 8;  // of a pipelined loop
inline constexpr std::array<std::string_view, 6> kAxes{"block.x",  "block.y",  "block.z",
                                                       "thread.x", "thread.y", "thread.z"};
// Each thread's own; of all threads of a block.
inline constexpr std::string_view kRegisterScope = "register", kSharedScope = "shared";
inline constexpr std::array kScopes{kRegisterScope, kSharedScope};
inline constexpr LoopSupport kLoopSupport{"the CUDA back end", kLoopKinds, kAxes,  loops::kMostLanes,
                                          kMostStages,         true,       kScopes};

// Between rows of buffers in scope "shared": they stay aligned for the widest load of a thread.
inline constexpr std::int64_t kBankBytes = 16;

// Errors: what kLoopSupport does not hold, buffers that a block or a thread has no room for, or whose uses put them
// elsewhere than their scope says.
Result<loops::ThreadProgram> lower(const loops::Program& program, const Gpu& gpu);

}  // namespace dovetail::cuda
