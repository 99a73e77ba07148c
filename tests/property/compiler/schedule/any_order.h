// What the kinds of loops promise, made visible to an interpreter that runs every loop in order: a program in which independent iterations run
// backwards and each has its own copy of the buffers that are private to it. It must compute the same values, and read nothing unwritten.
#pragma once

#include <algorithm>

#include "compiler/schedule/nest.h"

namespace dovetail::schedule::test {

// `buffer` with one copy per iteration of `loop`, in the statement `stmt` below it.
inline loops::Stmt with_copies(const loops::Stmt& stmt, const loops::Buffer& buffer, const loops::Buffer& copies, const loops::For& loop) {
  using namespace loops;
  int blocks = 0;
  return rewrite_stmt(stmt, [&](const Stmt& s) -> Stmt {
    const Block* block = as_block(s);
    if (!block || !(reads(s, buffer.get()) || writes(s, buffer.get()))) return s;
    Block copy = *block;
    const Var which = make_var(loop.var->name + ".of." + copies->name + "." + std::to_string(blocks++));
    copy.iterators.push_back({which, loop.extent, IterKind::spatial, ref(loop.var)});
    for (auto* regions : {&copy.reads, &copy.writes})
      for (Region& region : *regions)
        if (region.buffer == buffer) {
          region.buffer = copies;
          region.ranges.insert(region.ranges.begin(), RangeExpr{ref(which), 1});
        }
    const auto first = [&](std::vector<Expr> indices) {
      indices.insert(indices.begin(), ref(which));
      return indices;
    };
    const auto exprs = [&](const Expr& expr) -> Expr {
      const auto* access = std::get_if<LoadExpr>(&expr->node);
      return access && access->buffer == buffer ? load(copies, first(access->indices)) : expr;
    };
    const auto stmts = [&](const Stmt& inner) -> Stmt {
      if (const auto* assignment = std::get_if<Store>(&inner->node)) {
        Store changed = *assignment;
        for (StoreTarget& target : changed.targets)
          if (target.buffer == buffer) target = {copies, first(target.indices), target.value};
        return make_stmt(std::move(changed));
      }
      if (const auto* call = std::get_if<IntrinsicCall>(&inner->node)) {
        IntrinsicCall changed = *call;
        for (IntrinsicOperand& operand : changed.operands) {
          if (operand.buffer != buffer) continue;
          operand.buffer = copies;
          operand.indices = first(operand.indices);
          for (auto& step : operand.steps) step.insert(step.begin(), 0);
          if (!operand.extents.empty()) operand.extents.insert(operand.extents.begin(), 1);
        }
        return make_stmt(std::move(changed));
      }
      return inner;
    };
    if (copy.init) copy.init = rewrite_stmt(copy.init, stmts, exprs);
    copy.body = rewrite_stmt(copy.body, stmts, exprs);
    if (copy.predicate) copy.predicate = rewrite_expr(copy.predicate, exprs);
    return make_stmt(std::move(copy));
  });
}

inline bool promises_independence(const loops::For& loop) {
  return loop.kind == loops::ForKind::parallel || loop.kind == loops::ForKind::vectorized;
}

inline loops::Program any_order(loops::Program program) {
  using namespace loops;
  std::vector<std::string> names;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    if (const For* loop = as_for(stmt); loop && promises_independence(*loop) && loop->extent > 1) names.push_back(loop->var->name);
  });
  for (const std::string& name : names) {
    const Stmt stmt = find_loop(program.body, name)->back();
    For loop = *as_for(stmt);
    const Stmt others = replace(program.body, stmt, nullptr);
    for (Buffer& buffer : program.allocations) {
      if (!writes(loop.body, buffer.get()) || (others && (reads(others, buffer.get()) || writes(others, buffer.get())))) continue;
      BufferNode node = *buffer;
      node.shape.insert(node.shape.begin(), loop.extent);
      const Buffer copies = std::make_shared<const BufferNode>(std::move(node));
      loop.body = with_copies(loop.body, buffer, copies, loop);
      buffer = copies;
    }
    loop.body = substitute(loop.body, {{loop.var.get(), int_imm(loop.extent - 1, loop.var->dtype) - ref(loop.var)}});
    program.body = replace(program.body, stmt, make_stmt(std::move(loop)));
  }
  return program;
}

}  // namespace dovetail::schedule::test
