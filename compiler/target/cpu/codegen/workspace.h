// Placement of a kernel's local buffers: in the workspace shared by all threads, in each thread's workspace, or on the
// stack of one function, which LLVM turns into SSA values if all indices are constant ("register" buffers).
#pragma once

#include <cstdint>
#include <map>

#include "loops/core/core.h"
#include "loops/ir.h"

namespace dovetail::cpu {

struct Workspace {
  enum class Kind : std::uint8_t { shared, local, stack };
  struct Place {
    Kind kind;
    std::int64_t offset;  // bytes; 0 on the stack
  };
  std::map<const loops::BufferNode*, Place> places;
  std::int64_t shared_bytes = 0, local_bytes = 0, stack_bytes = 0;
};

// A buffer used only inside one parallel loop is private to its iterations.
// `most_stack_bytes`: of all buffers on the stack; 0: there is no limit but that of a single one.
Workspace plan_workspace(const loops::CoreProgram& core, std::int64_t most_stack_bytes = 0);

}  // namespace dovetail::cpu
