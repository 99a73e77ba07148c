// set_scope BUFFER SCOPE: the memory of an intermediate buffer. Legal for allocations only: the caller decides where
// parameters are. An intrinsic that uses the buffer must accept it in the new scope.
#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_set_scope(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const Buffer buffer, require_buffer(program, step.arguments[0], "set_scope"));
  const std::string& scope = step.arguments[1];
  std::optional<Diagnostic> fixed;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* call = std::get_if<IntrinsicCall>(&stmt->node);
    const Intrinsic* row = call ? find_intrinsic(intrinsics, call->intrinsic) : nullptr;
    for (std::size_t i = 0; row && i < call->operands.size(); ++i)
      if (call->operands[i].buffer == buffer && !row->scopes[i].empty() && row->scopes[i] != scope)
        fixed = refuse("set_scope", buffer->name,
                       fmt::format("intrinsic {} needs the buffer in scope {}", row->name, row->scopes[i]),
                       "set scopes before tensorize");
  });
  if (fixed) return *fixed;
  Program result = program;
  for (Buffer& allocation : result.allocations) {
    if (allocation != buffer) continue;
    BufferNode moved = *buffer;
    moved.scope = scope;
    allocation = std::make_shared<const BufferNode>(std::move(moved));
    result.body = replace_buffers(program.body, {{buffer.get(), allocation}});
    return result;
  }
  return refuse("set_scope", buffer->name, "the buffer is a parameter, whose memory the caller chooses",
                "use cache_read or cache_write to copy it into the scope");
}

}  // namespace dovetail::schedule
