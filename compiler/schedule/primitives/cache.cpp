// cache_read BLOCK BUFFER SCOPE -> CACHED        cache_write BLOCK BUFFER SCOPE -> CACHED
//
//   B: .. = f(X[i])          ==>   CACHED: CACHED[i] = X[i]   B: .. = f(CACHED[i])           (cache_read)
//   B: Y[i] = f(..)          ==>   B: CACHED[i] = f(..)       CACHED: Y[i] = CACHED[i]       (cache_write)
//
// The copy is a block named after the new buffer, over the whole buffer, next to the top-level statement that contains
// BLOCK; compute_at shrinks it. cache_read is legal where that statement does not write BUFFER and all of BUFFER is
// defined before it. BLOCK may be several, first,second: all of them read the copy, which is made before the first, and
// nothing up to the last of them writes BUFFER. cache_write is legal where BLOCK writes all of it, alone in that
// statement, nothing else there reads it, and BLOCK does not update what another block wrote.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/caching.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

// Copies all of `from` into `to`.
Stmt copy_whole(const std::string& name, const Buffer& to, const Buffer& from) {
  std::vector<Iterator> iterators;
  std::vector<Expr> indices;
  for (std::size_t d = 0; d < to->shape.size(); ++d) {
    iterators.push_back({make_var(fmt::format("i{}", d)), to->shape[d], IterKind::spatial, nullptr});
    indices.push_back(ref(iterators.back().var));
  }
  return copy_nest(name, std::move(iterators), to, indices, from, indices);
}

Result<Buffer> make_cached(const Program& program, Step& step, const CachePlace& place, std::string_view primitive) {
  DOVETAIL_TRY(
      name_copy(program, step, place.buffer->name + "." + step.arguments[2], place.buffer->shape.size(), primitive));
  return make_buffer(step.results[0], place.buffer->dtype, place.buffer->shape, step.arguments[2]);
}

Stmt redirect(const Stmt& block, const Buffer& from, const Buffer& to, bool reads_too, bool writes_too) {
  const auto exprs = [&](const Expr& expr) -> Expr {
    const auto* access = std::get_if<LoadExpr>(&expr->node);
    return access && access->buffer == from && reads_too ? load(to, access->indices) : expr;
  };
  const auto stmts = [&](const Stmt& stmt) -> Stmt {
    const auto* access = std::get_if<Store>(&stmt->node);
    if (!access || !writes_too) return stmt;
    Store copy = *access;
    for (StoreTarget& target : copy.targets)
      if (target.buffer == from) target.buffer = to;
    return make_stmt(std::move(copy));
  };
  Block copy = *as_block(block);
  if (copy.init) copy.init = rewrite_stmt(copy.init, stmts, exprs);
  copy.body = rewrite_stmt(copy.body, stmts, exprs);
  if (copy.predicate && reads_too) copy.predicate = rewrite_expr(copy.predicate, exprs);
  return make_stmt(with_inferred_regions(std::move(copy)));
}

}  // namespace

Result<Program> apply_cache_read(const Program& program, Step& step, const IntrinsicTable&) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= step.arguments[0].size();) {
    const std::size_t end = std::min(step.arguments[0].find(',', begin), step.arguments[0].size());
    names.push_back(step.arguments[0].substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<CachePlace> places;
  for (const std::string& name : names) {
    DOVETAIL_ASSIGN(CachePlace place, find_cache_place(program, name, step.arguments[1], "cache_read"));
    places.push_back(std::move(place));
  }
  const CachePlace& first = places.front();
  DOVETAIL_ASSIGN(const Buffer cached, make_cached(program, step, first, "cache_read"));
  const std::size_t from = top_position(program, first.path);
  std::vector<Stmt> nests = statements_of(program.body);
  Stmt body = program.body;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const CachePlace& place = places[i];
    if (!reads(place.path.back(), place.buffer.get()))
      return refuse("cache_read", place.buffer->name, fmt::format("block {} does not read the buffer", names[i]),
                    "name a buffer that the block reads");
    const std::size_t at = top_position(program, place.path);
    if (at < from)
      return refuse("cache_read", place.buffer->name, fmt::format("block {} comes before {}", names[i], names.front()),
                    "name the earliest block first");
    for (std::size_t nest = from; nest <= at; ++nest)
      if (writes(nests[nest], place.buffer.get()))
        return refuse(
            "cache_read", place.buffer->name,
            nest == from
                ? "the buffer is written in the same nest, so an earlier copy would be stale"
                : fmt::format("the buffer is written before block {}, for which the copy would be stale", names[i]),
            "cache before compute_at moves writer and reader into one nest");
    body = replace(body, place.path.back(), redirect(place.path.back(), place.buffer, cached, true, false));
  }
  if (!is_whole(program, first))
    return refuse("cache_read", first.buffer->name,
                  "the copy reads the whole buffer, but no earlier block provably writes all of it",
                  "cache before its producer is masked, tensorized or moved");
  Program result = program;
  result.allocations.push_back(cached);
  nests = statements_of(body);
  nests.insert(nests.begin() + static_cast<std::ptrdiff_t>(from), copy_whole(step.results[0], cached, first.buffer));
  result.body = sequence(std::move(nests));
  return result;
}

Result<Program> apply_cache_write(const Program& program, Step& step, const IntrinsicTable&) {
  DOVETAIL_ASSIGN(const CachePlace place,
                  find_cache_place(program, step.arguments[0], step.arguments[1], "cache_write"));
  DOVETAIL_ASSIGN(const Buffer cached, make_cached(program, step, place, "cache_write"));
  for (const Path& path : blocks_below(place.top)) {
    const Block& block = *as_block(path.back());
    const bool itself = block.name == step.arguments[0];
    if (itself != writes(path.back(), place.buffer.get()))
      return refuse(
          "cache_write", place.buffer->name,
          fmt::format("block {} {}", block.name, itself ? "does not write the buffer" : "also writes the buffer"),
          "name the only block that writes the buffer");
    if (!itself && reads(path.back(), place.buffer.get()))
      return refuse("cache_write", place.buffer->name,
                    fmt::format("block {} reads the buffer in the same nest", block.name),
                    "cache before compute_at moves writer and reader into one nest");
  }
  if (!writes_whole(place.path, *place.buffer))
    return refuse("cache_write", place.buffer->name,
                  fmt::format("the copy reads the whole buffer, but block {} does not provably write all of it",
                              step.arguments[0]),
                  "name a block that writes every element");
  if (reads(place.path.back(), place.buffer.get()))
    for (const Path& path : blocks_below(program.body))
      if (const Block& block = *as_block(path.back());
          block.name != step.arguments[0] && writes(path.back(), place.buffer.get()))
        return refuse("cache_write", place.buffer->name,
                      fmt::format("block {} updates what block {} wrote", step.arguments[0], block.name),
                      "cache before decompose_reduction");
  const Stmt producer =
      replace(place.top, place.path.back(), redirect(place.path.back(), place.buffer, cached, true, true));
  Program result = program;
  result.allocations.push_back(cached);
  result.body =
      replace(program.body, place.top, sequence({producer, copy_whole(step.results[0], place.buffer, cached)}));
  return result;
}

}  // namespace dovetail::schedule
