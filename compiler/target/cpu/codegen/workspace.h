// Where a kernel's own buffers lie: in the workspace that all threads share, in each thread's own, or on the stack of
// one function, which LLVM turns into SSA values where all indices are constants ("register" buffers).
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
  std::int64_t shared_bytes = 0, local_bytes = 0;
};

// A buffer that is used inside one parallel loop alone is private to its iterations.
Workspace plan_workspace(const loops::CoreProgram& core);

}  // namespace dovetail::cpu
