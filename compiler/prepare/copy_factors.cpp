#include "compiler/prepare/copy_factors.h"

#include <algorithm>
#include <utility>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/caching.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/nest.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"
#include "loops/threads/fetch.h"

namespace dovetail::prepare {

using namespace loops;

namespace {

// The iterator that an index consists of; nullopt: another index.
std::optional<std::size_t> iterator_of(const Block& block, const Expr& index) {
  const auto* n = std::get_if<VarRef>(&index->node);
  for (std::size_t i = 0; n != nullptr && i < block.iterators.size(); ++i)
    if (block.iterators[i].var == n->var) return i;
  return std::nullopt;
}

bool is_reduce(const Block& block, const Expr& index) {
  const auto iterator = iterator_of(block, index);
  return iterator && block.iterators[*iterator].kind == IterKind::reduce;
}

// The dimensions of `from`, those that a reduce iterator indexes alone last.
std::vector<std::size_t> depth_last(const Block& block, const Buffer& from) {
  const LoadExpr* access = nullptr;
  visit_exprs(block.body, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node); n != nullptr && n->buffer == from) access = n;
  });
  std::vector<std::size_t> others, depth;
  for (std::size_t d = 0; d < from->shape.size(); ++d)
    (is_reduce(block, access->indices[d]) ? depth : others).push_back(d);
  others.insert(others.end(), depth.begin(), depth.end());
  return others;
}

Stmt with_regions(const Stmt& stmt) {
  const auto* block = std::get_if<Block>(&stmt->node);
  return block != nullptr ? make_stmt(schedule::with_inferred_regions(*block)) : stmt;
}

std::optional<ScatteredFactor> scattered(const Block& block, const schedule::Contraction::Factor& factor,
                                         const schedule::Contraction::Factor& other) {
  const Expr stored = without_constant_iterators(block, factor.stored);
  const auto moved = Moved::of(stored), of_other = Moved::of(other.stored);
  if (!moved || !of_other || moved->load->buffer->dtype != factor.stored->dtype) return std::nullopt;
  ScatteredFactor found{moved->load->buffer, of_other->load->buffer, 0, false, 1};
  std::size_t channels = 0;
  bool in_run = true;
  for (std::size_t d = moved->load->indices.size(); d-- > 0;) {
    const Expr& index = moved->load->indices[d];
    const auto iterator = iterator_of(block, index);
    found.patches |= !iterator && !std::holds_alternative<IntImm>(index->node);
    const bool deep = is_reduce(block, index) && block.iterators[*iterator].extent > 1;
    if (deep) found.channels = *iterator, ++channels;
    in_run &= !deep && iterator && block.iterators[*iterator].extent == moved->load->buffer->shape[d];
    if (in_run) found.run *= moved->load->buffer->shape[d];
  }
  if (channels != 1 || (factor.depth_last && !found.patches)) return std::nullopt;
  return found;
}

}  // namespace

Expr without_constant_iterators(const Block& block, const Expr& expr) {
  VarMap zero;
  for (const Iterator& iterator : block.iterators)
    if (iterator.extent == 1) zero[iterator.var.get()] = int_imm(0);
  return simplify(substitute(expr, zero), {});
}

Program with_copy(Program program, const std::string& main, const Buffer& from) {
  const schedule::Path path = schedule::find_block(program.body, main).value();
  const std::vector<std::size_t> order = depth_last(*schedule::as_block(path.back()), from);
  const auto ordered = [&](const auto& of_dimensions) {
    auto made = of_dimensions;
    for (std::size_t d = 0; d < order.size(); ++d) made[d] = of_dimensions[order[d]];
    return made;
  };
  const Buffer to = make_buffer(from->name + kPrepared, from->dtype, ordered(from->shape));
  std::vector<Iterator> iterators;
  std::vector<Expr> indices;
  for (std::size_t d = 0; d < from->shape.size(); ++d) {
    iterators.push_back({make_var("i" + std::to_string(d)), from->shape[d], IterKind::spatial, nullptr});
    indices.push_back(ref(iterators.back().var));
  }
  const Stmt copy = schedule::copy_nest(to->name, std::move(iterators), to, ordered(indices), from, indices);
  const Stmt top = schedule::top_statement(path);
  const Stmt reading = rewrite_stmt(top, with_regions, [&](const Expr& e) {
    const auto* access = std::get_if<LoadExpr>(&e->node);
    return access == nullptr || access->buffer != from ? e : load(to, ordered(access->indices));
  });
  program.allocations.push_back(to);
  program.body = schedule::replace(program.body, top, sequence({copy, reading}));
  return program;
}

Program with_value(Program program, const std::string& name, const std::function<Expr(const Expr&)>& value) {
  const schedule::Path path = schedule::find_block(program.body, name).value();
  Block block = *schedule::as_block(path.back());
  Store made = std::get<Store>(block.body->node);
  made.targets.at(0).value = value(made.targets[0].value);
  block.body = make_stmt(std::move(made));
  program.body = schedule::replace(program.body, path.back(), make_stmt(schedule::with_inferred_regions(block)));
  return program;
}

std::optional<ScatteredFactor> scattered_factor(const Program& program, const std::string& main) {
  const auto path = schedule::find_block(program.body, main);
  if (!path) return std::nullopt;
  const auto product = schedule::require_contraction(*path, "copy_factors");
  if (!product.ok()) return std::nullopt;
  const Block& block = *schedule::as_block(path->back());
  const auto right = scattered(block, product->right, product->left);
  return right ? right : scattered(block, product->left, product->right);
}

Program with_innermost(Program program, const std::string& main, std::size_t iterator) {
  const schedule::Path path = schedule::find_block(program.body, main).value();
  Block block = *schedule::as_block(path.back());
  const auto first = block.iterators.begin() + static_cast<std::ptrdiff_t>(iterator);
  std::rotate(first, first + 1, block.iterators.end());
  std::vector<const For*> loops = schedule::loops_of(path);
  std::rotate(loops.begin() + static_cast<std::ptrdiff_t>(iterator),
              loops.begin() + static_cast<std::ptrdiff_t>(iterator) + 1, loops.end());
  Stmt nest = make_stmt(std::move(block));
  for (std::size_t i = loops.size(); i-- > 0;) {
    For loop = *loops[i];
    loop.body = std::move(nest);
    nest = make_stmt(std::move(loop));
  }
  program.body = schedule::replace(program.body, schedule::top_statement(path), std::move(nest));
  return program;
}

}  // namespace dovetail::prepare
