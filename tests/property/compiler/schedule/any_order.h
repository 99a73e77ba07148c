// Makes the promises of loop kinds visible to an interpreter that runs every loop in order: a program in which
// independent iterations run backwards and interleaved, and each has a separate copy of the buffers that are private to
// it. It must compute the same values, and read no unwritten element.
#pragma once

#include <algorithm>

#include "compiler/schedule/dependence.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/thread_axes.h"

namespace dovetail::schedule::test {

// `buffer` with one copy per iteration of `loop`, in the statement `stmt` below it.
inline loops::Stmt with_copies(const loops::Stmt& stmt, const loops::Buffer& buffer, const loops::Buffer& copies,
                               const loops::For& loop) {
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
    copy.body = substitute(copy.body, {{loop.var.get(), ref(which)}});  // in a nested block, whose copies exist already
    return make_stmt(std::move(copy));
  });
}

inline bool promises_independence(const loops::For& loop) {
  return loop.kind != loops::ForKind::serial && loop.kind != loops::ForKind::unrolled &&
         loop.kind != loops::ForKind::pipelined;
}

// One loop for each of `parts`, the groups of the body's statements; the first keeps its name.
inline loops::Stmt distributed(const loops::Program& program, const loops::For& loop,
                               const std::vector<loops::Stmt>& parts) {
  using namespace loops;
  std::vector<Stmt> nests;
  std::vector<std::string> names;
  for (const Stmt& part : parts) {
    For nest = loop;
    nest.body = part;
    if (!nests.empty()) {
      nest.var = make_var(free_name(program, loop.var->name + ".next", names), loop.var->dtype);
      names.push_back(nest.var->name);
      nest.body = substitute(part, {{loop.var.get(), ref(nest.var)}});
    }
    nests.push_back(make_stmt(std::move(nest)));
  }
  return sequence(std::move(nests));
}

// Independent iterations: backwards, all of them at one statement before any is at the next. Pipelined ones: everything
// that runs ahead comes before the last statement's first iteration.
inline loops::Program any_order(loops::Program program, const loops::IntrinsicTable& intrinsics) {
  using namespace loops;
  std::vector<std::string> names;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const For* loop = as_for(stmt);
    if (loop && (promises_independence(*loop) || loop->kind == ForKind::pipelined) && loop->extent > 1)
      names.push_back(loop->var->name);
  });
  for (const std::string& name : names) {
    const auto path = find_loop(program.body, name);
    if (!path) continue;                 // in the body of a block: it promises nothing
    if (joins_threads(*path)) continue;  // the reduction starts where the program says
    const Stmt stmt = path->back();
    For loop = *as_for(stmt);
    const Stmt others = replace(program.body, stmt, nullptr);
    for (Buffer& buffer : program.allocations) {
      if (!writes(loop.body, buffer.get()) || (others && (reads(others, buffer.get()) || writes(others, buffer.get()))))
        continue;
      if (loop.kind == ForKind::pipelined && !not_private(program, *path, buffer, intrinsics).empty())
        continue;  // an accumulator of the last statement
      BufferNode node = *buffer;
      node.shape.insert(node.shape.begin(), loop.extent);
      const Buffer copies = std::make_shared<const BufferNode>(std::move(node));
      loop.body = with_copies(loop.body, buffer, copies, loop);
      buffer = copies;
    }
    const bool pipelined = loop.kind == ForKind::pipelined;
    if (!pipelined)
      loop.body = substitute(loop.body, {{loop.var.get(), int_imm(loop.extent - 1, loop.var->dtype) - ref(loop.var)}});
    std::vector<Stmt> parts{loop.body};
    if (const auto* body = std::get_if<Sequence>(&loop.body->node)) {
      parts = body->body;
      if (pipelined) parts = {sequence({body->body.begin(), body->body.end() - 1}), body->body.back()};
    }
    loop.kind = ForKind::serial;  // names of inner loops are unique: the distributed loop is done
    loop.thread_axis.clear();
    program.body = replace(program.body, stmt, distributed(program, loop, parts));
  }
  return program;
}

}  // namespace dovetail::schedule::test
