// transform_layout BUFFER INDEX_MAP
//
// Changes the layout of a buffer: INDEX_MAP lists, for each dimension of the new layout, the part of an old index that
// it contains.
//   "i0,i1/16,i2,i3,i1%16" turns [n, c, y, x] into [n, c // 16, y, x, c % 16]; "i1/16%4" takes a middle part.
// Legal if the map is one to one (every old dimension is covered by its parts without gap or overlap, and the parts
// divide it) and every index is still proven in bounds. A parameter changes its shape with it: the caller passes the
// packed form (see pack()).
#include <fmt/format.h>

#include "compiler/schedule/index_map.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_transform_layout(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const Buffer buffer, require_buffer(program, step.arguments[0], "transform_layout"));
  DOVETAIL_ASSIGN(const IndexMap map, parse_index_map(step.arguments[1], buffer->shape));
  BufferNode node = *buffer;
  node.shape = map.physical_shape();
  const Buffer packed = std::make_shared<const BufferNode>(std::move(node));

  // Indices of a block's body are in terms of its iterators, whose extents give the bounds.
  const auto transform_block = [&](const Block& block) {
    Bounds bounds;
    for (const Iterator& iterator : block.iterators)
      bounds[iterator.var.get()] = {0, std::max<std::int64_t>(iterator.extent - 1, 0)};
    const auto convert = [&](const std::vector<Expr>& indices) {
      std::vector<Expr> converted = map.apply(indices);
      for (Expr& index : converted) index = simplify(index, bounds);
      return converted;
    };
    const auto exprs = [&](const Expr& expr) -> Expr {
      const auto* access = std::get_if<LoadExpr>(&expr->node);
      return access && access->buffer == buffer ? load(packed, convert(access->indices)) : expr;
    };
    const auto stmts = [&](const Stmt& stmt) -> Stmt {
      const auto* access = std::get_if<Store>(&stmt->node);
      if (!access) return stmt;
      Store copy = *access;
      for (StoreTarget& target : copy.targets) {
        if (target.buffer != buffer) continue;
        target.buffer = packed;
        target.indices = convert(target.indices);
      }
      return make_stmt(std::move(copy));
    };
    Block copy = block;
    if (copy.init) copy.init = rewrite_stmt(copy.init, stmts, exprs);
    copy.body = rewrite_stmt(copy.body, stmts, exprs);
    if (copy.predicate) copy.predicate = rewrite_expr(copy.predicate, exprs);
    return with_inferred_regions(std::move(copy));
  };

  if (tensorized(program.body, buffer.get()))
    return refuse("transform_layout", buffer->name, "a tensor intrinsic already uses the buffer",
                  "transform layouts before tensorize");

  Program result = program;
  for (Parameter& parameter : result.parameters)
    if (parameter.buffer == buffer) parameter.buffer = packed;
  for (Buffer& allocation : result.allocations)
    if (allocation == buffer) allocation = packed;
  std::set<std::string> changed;
  result.body = rewrite_stmt(program.body, [&](const Stmt& stmt) -> Stmt {
    if (const auto* condition = std::get_if<If>(&stmt->node)) {
      const auto exprs = [&](const Expr& expr) -> Expr {
        const auto* access = std::get_if<LoadExpr>(&expr->node);
        return access && access->buffer == buffer ? load(packed, map.apply(access->indices)) : expr;
      };
      return make_stmt(If{rewrite_expr(condition->condition, exprs), condition->then_body, condition->else_body});
    }
    const Block* block = as_block(stmt);
    if (!block || !(reads(stmt, buffer.get()) || writes(stmt, buffer.get()))) return stmt;
    changed.insert(block->name);
    return make_stmt(transform_block(*block));
  });
  // An index that a select kept inside the old extents may not be provable inside the new ones.
  return if_proven(std::move(result), changed, intrinsics, "transform_layout", buffer->name,
                   "do not split that dimension, or mask in a separate block");
}

}  // namespace dovetail::schedule
