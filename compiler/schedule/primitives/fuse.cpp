// fuse OUTER INNER -> FUSED
//
//   for y in 3 { for x in 4 { S(y, x) } }   ==>   for f in 12 { S(f // 4, f % 4) }
//
// Legal if INNER is the only statement in OUTER, both are of one kind, and neither is bound to a thread axis. The
// annotations of both are kept.
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
    return refuse("fuse", outer_name,
                  fmt::format("{} is not the only statement directly inside {}", inner_name, outer_name),
                  "reorder the loops until they are adjacent");
  if (step.results.empty()) step.results = {outer_name + "_" + inner_name};
  const std::string& fused_name = step.results[0];
  DOVETAIL_TRY(require_new_name(program, fused_name, "fuse", outer_name, {outer_name, inner_name}));
  if (outer.kind != inner->kind || outer.kind == ForKind::thread)
    return refuse(
        "fuse", outer_name,
        fmt::format("{} is {}, {} is {}", outer_name, loops::name(outer.kind), inner_name, loops::name(inner->kind)),
        "fuse loops of one kind that are bound to no thread axis");
  Annotations annotations = outer.annotations;
  for (const auto& [key, value] : inner->annotations)
    if (const auto [it, fresh] = annotations.emplace(key, value); it->second != value)
      return refuse("fuse", outer_name,
                    fmt::format("annotation {} is {} for this loop, but {} for {}", key, it->second, value, inner_name),
                    "annotate after fuse");
  if (inner->extent == 0)
    return refuse("fuse", outer_name, fmt::format("loop {} has no iterations", inner_name), "remove the step");

  const Var fused = make_var(fused_name, outer.var->dtype);
  For loop{fused,
           outer.extent * inner->extent,
           outer.kind,
           "",
           annotations,
           substitute(inner->body, {{outer.var.get(), floor_div(ref(fused), inner->extent)},
                                    {inner->var.get(), floor_mod(ref(fused), inner->extent)}})};
  Program result = program;
  result.body = replace(program.body, path.back(), make_stmt(std::move(loop)));
  return if_iterators_proven(std::move(result), block_names(path.back()), "fuse", outer_name,
                             "split after fuse, not before");
}

}  // namespace dovetail::schedule
