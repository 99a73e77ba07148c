// fuse OUTER INNER -> FUSED
//
//   for y in 3 { for x in 4 { S(y, x) } }   ==>   for f in 12 { S(f // 4, f % 4) }
//
// Legal where INNER is all that OUTER holds.
#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_fuse(const Program& program, Step& step, const IntrinsicTable&) {
  const std::string& outer_name = step.arguments[0];
  const std::string& inner_name = step.arguments[1];
  DOVETAIL_ASSIGN(const Path path, require_loop(program, outer_name, "fuse"));
  const For& outer = *as_for(path.back());
  const For* inner = as_for(outer.body);
  if (!inner || inner->var->name != inner_name)
    return refuse("fuse", outer_name, fmt::format("{} is not the only statement directly below {}", inner_name, outer_name),
                  "reorder the loops until they are adjacent");
  if (step.results.empty()) step.results = {outer_name + "_" + inner_name};
  const std::string& fused_name = step.results[0];
  if (fused_name != outer_name && fused_name != inner_name && find_loop(program.body, fused_name))
    return refuse("fuse", outer_name, fmt::format("a loop named {} exists already", fused_name), "choose another name");

  const Var fused = make_var(fused_name, outer.var->dtype);
  For loop{fused, outer.extent * inner->extent, ForKind::serial, "", {},
           substitute(inner->body, {{outer.var.get(), floor_div(ref(fused), inner->extent)},
                                    {inner->var.get(), floor_mod(ref(fused), inner->extent)}})};
  Program result = program;
  result.body = replace(program.body, path.back(), make_stmt(std::move(loop)));
  return result;
}

}  // namespace dovetail::schedule
