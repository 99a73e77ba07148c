// set_scope BUFFER SCOPE: where an intermediate buffer lives. Legal for allocations only: parameters are where the caller put them.
#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_set_scope(const Program& program, Step& step, const IntrinsicTable&) {
  DOVETAIL_ASSIGN(const Buffer buffer, require_buffer(program, step.arguments[0], "set_scope"));
  Program result = program;
  for (Buffer& allocation : result.allocations) {
    if (allocation != buffer) continue;
    BufferNode moved = *buffer;
    moved.scope = step.arguments[1];
    allocation = std::make_shared<const BufferNode>(std::move(moved));
    result.body = replace_buffers(program.body, {{buffer.get(), allocation}});
    return result;
  }
  return refuse("set_scope", buffer->name, "it is a parameter, whose place the caller decides", "cache_read or cache_write it into the scope");
}

}  // namespace dovetail::schedule
