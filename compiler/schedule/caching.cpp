#include "compiler/schedule/caching.h"

#include <fmt/format.h>

#include "compiler/schedule/iteration.h"

namespace dovetail::schedule {

using namespace loops;

Result<void> name_copy(const Program& program, Step& step, const std::string& default_name, std::size_t rank,
                       std::string_view primitive) {
  const std::string& object = step.arguments[1];
  if (step.results.empty()) step.results = {default_name};
  DOVETAIL_TRY(require_new_name(program, step.results[0], primitive, object));
  for (std::size_t d = 0; d < rank; ++d)
    DOVETAIL_TRY(require_new_name(program, fmt::format("{}.{}", step.results[0], d), primitive, object));
  return {};
}

Result<CachePlace> find_cache_place(const Program& program, const std::string& block, const std::string& buffer,
                                    std::string_view primitive) {
  CachePlace place;
  DOVETAIL_ASSIGN(place.path, require_block(program, block, primitive));
  DOVETAIL_ASSIGN(place.buffer, require_buffer(program, buffer, primitive));
  DOVETAIL_TRY(require_no_inner_block(*as_block(place.path.back()), primitive, place.buffer->name));
  if (tensorized(place.path.back(), place.buffer.get()))
    return refuse(primitive, place.buffer->name,
                  fmt::format("a tensor intrinsic of block {} already uses the buffer", block),
                  fmt::format("apply {} before tensorize", primitive == "reindex" ? "reindex" : "cache"));
  const bool in_sequence = std::holds_alternative<Sequence>(program.body->node);
  place.top = in_sequence ? place.path[1] : place.path[0];
  return place;
}

bool is_whole(const Program& program, const CachePlace& place) {
  for (const Parameter& parameter : program.parameters)
    if (parameter.buffer == place.buffer && parameter.role != ParameterRole::output) return true;
  const auto* seq = std::get_if<Sequence>(&program.body->node);
  if (!seq) return false;
  for (const Stmt& stmt : seq->body) {
    if (stmt == place.top) return false;
    for (const Path& path : blocks_below(stmt))
      if (writes(path.back(), place.buffer.get()) && writes_whole(path, *place.buffer)) return true;
  }
  return false;
}

Stmt compute_nest(const std::string& name, std::vector<Iterator> iterators, const Buffer& to,
                  const std::vector<Expr>& to_indices, Expr value) {
  Block block;
  block.name = name;
  std::vector<Var> loops;
  for (std::size_t d = 0; d < iterators.size(); ++d) {
    loops.push_back(make_var(fmt::format("{}.{}", name, d), iterators[d].var->dtype));
    iterators[d].kind = IterKind::spatial;
    iterators[d].binding = ref(loops.back());
  }
  block.iterators = std::move(iterators);
  block.body = store(to, to_indices, std::move(value));
  Stmt stmt = make_stmt(with_inferred_regions(block));
  for (std::size_t d = loops.size(); d-- > 0;)
    stmt = make_stmt(For{loops[d], block.iterators[d].extent, ForKind::serial, "", {}, std::move(stmt)});
  return stmt;
}

Stmt copy_nest(const std::string& name, std::vector<Iterator> iterators, const Buffer& to,
               const std::vector<Expr>& to_indices, const Buffer& from, const std::vector<Expr>& from_indices) {
  return compute_nest(name, std::move(iterators), to, to_indices, load(from, from_indices));
}

}  // namespace dovetail::schedule
