// Lowers scheduled loop programs to kernels.
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
inline constexpr std::int64_t kMostStages = 8;  // stages of a pipelined loop
inline constexpr std::array<std::string_view, 6> kAxes{"block.x",  "block.y",  "block.z",
                                                       "thread.x", "thread.y", "thread.z"};
// Private to each thread; shared by all threads of a block.
inline constexpr std::string_view kRegisterScope = "register", kSharedScope = "shared";
inline constexpr std::array kScopes{kRegisterScope, kSharedScope};
inline constexpr LoopSupport kLoopSupport{"the CUDA back end", kLoopKinds, kAxes,  loops::kMostLanes,
                                          kMostStages,         true,       kScopes};

// Padding between rows of buffers in scope "shared": they stay aligned for the widest load of a thread.
inline constexpr std::int64_t kBankBytes = 16;

// Errors: loops not supported by kLoopSupport, buffers that do not fit a block or a thread, or whose uses contradict
// their scope.
Result<loops::ThreadProgram> lower(const loops::Program& program, const Gpu& gpu);

}  // namespace dovetail::cuda
