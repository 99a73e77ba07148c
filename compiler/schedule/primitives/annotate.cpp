// annotate LOOP|BLOCK KEY VALUE: adds a note for later stages; does not change the meaning.
#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_annotate(const Program& program, Step& step, const IntrinsicTable&) {
  const auto& [name, key, value] = std::tie(step.arguments[0], step.arguments[1], step.arguments[2]);
  Program result = program;
  if (const auto path = find_block(program.body, name)) {
    Block block = *as_block(path->back());
    block.annotations[key] = value;
    result.body = replace(program.body, path->back(), make_stmt(std::move(block)));
    return result;
  }
  DOVETAIL_ASSIGN(const Path path, require_loop(program, name, "annotate"));
  For loop = *as_for(path.back());
  loop.annotations[key] = value;
  result.body = replace(program.body, path.back(), make_stmt(std::move(loop)));
  return result;
}

}  // namespace dovetail::schedule
