// linalg.generic on memrefs: a nest of loops around one block.
#include <algorithm>

#include <fmt/format.h>

#include "mlir/function_reader.h"

namespace dovetail::mlir {

using namespace loops;

Stmt FunctionReader::generic(const Operation& op) {
  const Attribute *maps = op.find("indexing_maps"), *kinds = op.find("iterator_types"),
                  *segments = op.find("operandSegmentSizes");
  if (maps == nullptr || kinds == nullptr || segments == nullptr || segments->elements.size() != 2 ||
      op.regions.size() != 1 || maps->elements.size() != op.operands.size() || !op.results.empty())
    fail(op.at, "linalg.generic has no map for each operand, or results", "use memrefs as operands");
  const std::size_t dims = kinds->elements.size();
  const auto inputs = static_cast<std::size_t>(std::clamp<std::int64_t>(segments->elements[0].integer, 0, 1 << 20));
  const SyntaxRegion& region = op.regions.front();
  if (region.arguments.size() != op.operands.size() || inputs >= op.operands.size())
    fail(op.at, "the body has no argument for each operand, or there is no output", "write ^bb0 with all of them");
  // The extent of a dimension is that of an operand's dimension which it is the index of.
  std::vector<std::int64_t> extents(dims, -1);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (i < inputs && find(op.operands[i]).expr) continue;  // a number
    const Buffer buffer = memref(op, i);
    const Attribute& map = maps->elements[i];
    if (map.kind != Attribute::Kind::map || map.map.dims != dims || map.map.symbols != 0 ||
        map.map.results.size() != buffer->shape.size())
      fail(op.at, fmt::format("map {} does not fit its operand", i), "give a result for each dimension of the memref");
    for (std::size_t dim = 0; dim < buffer->shape.size(); ++dim)
      if (const AffineExpr& result = map.map.results[dim]; result->kind == AffineKind::operand)
        extents[static_cast<std::size_t>(result->value)] = buffer->shape[dim];
  }
  if (std::ranges::find(extents, -1) != extents.end())
    fail(op.at, "a dimension is not the index of any operand", "add an operand whose shape has its extent");

  const Names names(*this);
  const std::string base = unique_name(memref(op, inputs)->name, block_names_);
  std::vector<Loop> own = loops_;
  std::vector<IterKind> own_kinds(loops_.size(), IterKind::ordered);
  std::vector<Expr> indices;
  std::vector<Stmt> statements;
  for (std::size_t dim = 0; dim < dims; ++dim) {
    own.push_back({make_var(unique_name(fmt::format("{}.d{}", base, dim), loop_names_)), extents[dim]});
    own_kinds.push_back(kinds->elements[dim].text == "parallel" ? IterKind::spatial : IterKind::reduce);
    indices.push_back(ref(own.back().var));
  }
  std::vector<StoreTarget> targets;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const std::string& argument = region.arguments[i].first.name;
    if (const Value& given = find(op.operands[i]); i < inputs && given.expr) {
      check_current(op, given.expr);
      values_[argument].push_back(Value(given));
      names_.back().push_back(argument);
      continue;
    }
    const Buffer buffer = memref(op, i);
    std::vector<Expr> place;
    for (const AffineExpr& result : maps->elements[i].map.results) place.push_back(to_loops(result, indices));
    values_[argument].push_back({.expr = load(buffer, place)});
    names_.back().push_back(argument);
    if (i >= inputs) targets.push_back({buffer, std::move(place), nullptr});
  }
  for (const Operation& inner : region.body) {
    if (inner.name == "linalg.index") {
      const Attribute* dim = inner.find("dim");
      if (dim == nullptr || dim->integer < 0 || static_cast<std::size_t>(dim->integer) >= dims)
        fail(inner.at, "there is no such dimension", fmt::format("dimensions are 0 to {}", dims - 1));
      set(inner, {.expr = indices[static_cast<std::size_t>(dim->integer)]});
    } else if (inner.name == "linalg.yield") {
      if (inner.operands.size() != targets.size())
        fail(inner.at, fmt::format("{} values are yielded for {} outputs", inner.operands.size(), targets.size()),
             "yield one for each");
      for (std::size_t i = 0; i < targets.size(); ++i)
        targets[i].value = as(inner, expr(inner, i), targets[i].buffer->dtype);
    } else if (!define(inner)) {
      fail(inner.at, fmt::format("{} in linalg.generic", inner.name), "compute values only");
    }
  }
  if (!targets.front().value) fail(op.at, "the body yields nothing", "end it with linalg.yield");
  ++time_;
  for (const StoreTarget& target : targets) last_write_[target.buffer.get()] = time_;
  block_names_.erase(base);
  Stmt result = in_block(Store{std::move(targets)}, own, std::move(own_kinds), base);
  for (std::size_t dim = dims; dim-- > 0;) {
    const Loop& loop = own[loops_.size() + dim];
    result = make_stmt(For{loop.var, loop.extent, ForKind::serial, {}, {}, std::move(result)});
  }
  return result;
}

}  // namespace dovetail::mlir
