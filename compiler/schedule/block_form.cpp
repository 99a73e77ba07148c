#include "compiler/schedule/block_form.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/iteration.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

std::optional<std::vector<int>> dimensions_of(const Block& block, const std::vector<Expr>& indices,
                                              const BufferNode& buffer) {
  std::vector<int> dimensions(block.iterators.size(), -1);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (const auto* constant = std::get_if<IntImm>(&indices[d]->node);
        constant && buffer.shape[d] == 1 && constant->value == 0)
      continue;
    const auto* reference = std::get_if<VarRef>(&indices[d]->node);
    if (!reference) return std::nullopt;
    const auto iterator = std::find_if(block.iterators.begin(), block.iterators.end(),
                                       [&](const Iterator& i) { return i.var == reference->var; });
    if (iterator == block.iterators.end() || iterator->kind != IterKind::spatial) return std::nullopt;
    int& at = dimensions[static_cast<std::size_t>(iterator - block.iterators.begin())];
    if (at != -1) return std::nullopt;
    at = static_cast<int>(d);
  }
  return dimensions;
}

bool one_to_one(const Block& block, const std::vector<int>& dimensions) {
  for (std::size_t i = 0; i < block.iterators.size(); ++i)
    if (block.iterators[i].kind == IterKind::spatial && dimensions[i] == -1 && block.iterators[i].extent != 1)
      return false;
  return true;
}

bool is_allocation(const Program& program, const Buffer& buffer) {
  return std::find(program.allocations.begin(), program.allocations.end(), buffer) != program.allocations.end();
}

Result<StoreTarget> require_plain_store(const Block& block, std::string_view primitive) {
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind != IterKind::spatial)
      return refuse(primitive, block.name,
                    fmt::format("iterator {} of block {} is {}, not spatial", iterator.var->name, block.name,
                                name(iterator.kind)),
                    "leave the block separate: it has a reduction or a fixed order");
  const auto* assignment = std::get_if<Store>(&block.body->node);
  if (block.init || !assignment || assignment->targets.size() != 1)
    return refuse(primitive, block.name, fmt::format("block {} is not one plain store", block.name),
                  "apply this step before tensorize");
  return assignment->targets[0];
}

bool in_condition(const Stmt& root, const Buffer& buffer) {
  bool found = false;
  visit_stmts(root, [&](const Stmt& stmt) {
    const auto* condition = std::get_if<If>(&stmt->node);
    if (condition && !blocks_below(stmt).empty())
      visit_exprs(condition->condition, [&](const Expr& expr) {
        const auto* access = std::get_if<LoadExpr>(&expr->node);
        found |= access && access->buffer == buffer;
      });
  });
  return found;
}

VarMap iterators_at(const Block& block, const std::vector<int>& dimensions, const std::vector<Expr>& indices) {
  VarMap map;
  for (std::size_t i = 0; i < block.iterators.size(); ++i) {
    const int d = dimensions[i];
    map[block.iterators[i].var.get()] =
        d < 0 ? int_imm(0, block.iterators[i].var->dtype) : indices[static_cast<std::size_t>(d)];
  }
  return map;
}

std::size_t own_nest(const Path& path) {
  std::size_t top = path.size() - 1;
  while (top > 0 && as_for(path[top - 1])) --top;
  return top;
}

Result<Expr> require_free_predicate(const Path& path, std::size_t nest, std::string_view primitive) {
  const Block& block = *as_block(path.back());
  Expr kept;
  for (const Expr& term : conjuncts(block.predicate)) {
    const bool own_loops =
        std::any_of(path.begin() + static_cast<std::ptrdiff_t>(nest), path.end(),
                    [&](const Stmt& stmt) { return as_for(stmt) && mentions(term, as_for(stmt)->var); });
    if (!own_loops) {
      kept = conjunction(kept, term);
    } else if (!holds_in_range(block, term, bounds_of(loops_of(path)))) {
      return refuse(primitive, block.name,
                    fmt::format("the block's predicate {} depends on its own loops, which this step rebuilds",
                                loops::to_string(term)),
                    "move the block before splitting its loops");
    }
  }
  return kept;
}

namespace {

// Iterators with the name of an enclosing loop are renamed.
Block with_other_iterators(Block block, const std::vector<std::string>& loops, const Program& program) {
  VarMap renamed;
  for (Iterator& iterator : block.iterators) {
    if (std::find(loops.begin(), loops.end(), iterator.var->name) == loops.end()) continue;
    const Var fresh =
        make_var(free_name(program, fmt::format("{}.{}", block.name, iterator.var->name), loops), iterator.var->dtype);
    renamed[iterator.var.get()] = ref(fresh);
    iterator.var = fresh;
  }
  if (renamed.empty()) return block;
  if (block.predicate) block.predicate = substitute(block.predicate, renamed);
  if (block.init) block.init = substitute(block.init, renamed);
  block.body = substitute(block.body, renamed);
  return with_inferred_regions(std::move(block));
}

}  // namespace

Stmt nest_over(const Program& program, Block block, const Stmt& old_nest, const std::vector<RangeExpr>& part,
               const std::vector<const For*>& outside) {
  const Bounds bounds = bounds_of(outside);
  Expr within;
  std::vector<For> fresh;
  std::vector<std::string> names;  // names of the new loops
  for (std::size_t i = 0; i < block.iterators.size(); ++i) {
    Iterator& iterator = block.iterators[i];
    const auto* plain = std::get_if<VarRef>(&iterator.binding->node);
    const bool keeps_name = plain && std::find(names.begin(), names.end(), plain->var->name) == names.end() &&
                            find_loop(old_nest, plain->var->name);
    const Var var =
        make_var(keeps_name ? plain->var->name
                            : free_name(program, fmt::format("{}.{}", block.name, iterator.var->name), names));
    names.push_back(var->name);
    RangeExpr values = part[i];
    if (const auto* fixed = std::get_if<IntImm>(&values.min->node)) {
      const std::int64_t begin = std::max<std::int64_t>(fixed->value, 0),
                         end = std::min(fixed->value + values.extent, iterator.extent);
      values = {int_imm(begin), std::max<std::int64_t>(end - begin, 1)};
    }
    const auto& [min, extent] = values;
    iterator.binding = extent == 1 ? min : simplify(min + ref(var), bounds);
    Bounds with_loop = bounds;
    with_loop[var.get()] = {0, extent - 1};
    // A tile may extend beyond the edge.
    const auto range = bound(iterator.binding, with_loop);
    if (!range || range->max >= iterator.extent)
      within = conjunction(within, binary(BinaryOp::lt, iterator.binding, int_imm(iterator.extent)));
    if (!range || range->min < 0) within = conjunction(within, binary(BinaryOp::ge, iterator.binding, int_imm(0)));
    if (extent != 1) fresh.push_back({var, extent, ForKind::serial, "", {}, nullptr});
  }
  block.predicate = conjunction(within, block.predicate);
  for (const For* around : outside) names.push_back(around->var->name);
  Stmt stmt = make_stmt(with_other_iterators(std::move(block), names, program));
  for (auto inner = fresh.rbegin(); inner != fresh.rend(); ++inner) {
    inner->body = std::move(stmt);
    stmt = make_stmt(std::move(*inner));
  }
  return stmt;
}

std::vector<Stmt> statements_of(const Stmt& stmt) {
  if (const auto* seq = std::get_if<Sequence>(&stmt->node)) return seq->body;
  return {stmt};
}

Stmt top_statement(const Path& path) { return std::holds_alternative<Sequence>(path[0]->node) ? path[1] : path[0]; }

std::size_t top_position(const Program& program, const Path& path) {
  const std::vector<Stmt> statements = statements_of(program.body);
  return static_cast<std::size_t>(std::find(statements.begin(), statements.end(), top_statement(path)) -
                                  statements.begin());
}

bool is_as_defined(const Path& path) {
  const Block& block = *as_block(path.back());
  const std::vector<const For*> loops = loops_of(path);
  if (block.predicate || only_block(top_statement(path)) != &block || loops.size() != block.iterators.size())
    return false;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Iterator& iterator = block.iterators[i];
    const auto* reference = std::get_if<VarRef>(&iterator.binding->node);
    if (reference == nullptr || reference->var != loops[i]->var || loops[i]->extent != iterator.extent ||
        loops[i]->kind != ForKind::serial || iterator.extent < 1 || iterator.var->dtype != DType::int64)
      return false;
  }
  return true;
}

}  // namespace dovetail::schedule
