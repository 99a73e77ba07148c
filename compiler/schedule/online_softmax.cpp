#include "compiler/schedule/online_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/block_form.h"
#include "loops/combine.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

const StoreTarget* only_target(const Block& block) {
  const auto* store = std::get_if<Store>(&block.body->node);
  return store != nullptr && store->targets.size() == 1 ? store->targets.data() : nullptr;
}

std::vector<Expr> iterators_of(const Block& block, std::size_t count) {
  std::vector<Expr> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(ref(block.iterators[i].var));
  return list;
}

bool equal(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, structurally_equal);
}

// The block stores at all of its spatial iterators, in their order, followed by `reduced` reduce iterators.
bool stores_in_order(const Block& block, std::size_t reduced) {
  const StoreTarget* target = only_target(block);
  if (target == nullptr || block.iterators.size() < reduced) return false;
  const std::size_t spatial = block.iterators.size() - reduced;
  for (std::size_t i = 0; i < block.iterators.size(); ++i)
    if (block.iterators[i].kind != (i < spatial ? IterKind::spatial : IterKind::reduce)) return false;
  if (!equal(target->indices, iterators_of(block, spatial))) return false;
  for (std::size_t i = 0; i < spatial; ++i)
    if (target->buffer->shape[i] != block.iterators[i].extent) return false;
  return true;
}

// The value that a reduction over the last iterator combines by `op`, starting from the operation's identity.
Expr joined(const Block& block, BinaryOp op) {
  if (!stores_in_order(block, 1) || !block.init) return nullptr;
  const auto* start = std::get_if<Store>(&block.init->node);
  const auto combine = combine_of(std::get<Store>(block.body->node).targets);
  if (start == nullptr || start->targets.size() != 1 || !combine || combine->operations[0] != op) return nullptr;
  const DType type = combine->values[0]->dtype;
  return is_floating(type) && structurally_equal(start->targets[0].value, identity_of(op, type)) ? combine->values[0]
                                                                                                 : nullptr;
}

std::optional<Path> only_writer(const Program& program, const BufferNode* buffer) {
  std::optional<Path> found;
  for (Path& path : blocks_below(program.body)) {
    if (!writes(path.back(), buffer)) continue;
    if (found) return std::nullopt;
    found = std::move(path);
  }
  return found;
}

// Blocks that read the buffer, except the one named `but`.
std::vector<Path> readers(const Program& program, const BufferNode* buffer, std::string_view but) {
  std::vector<Path> found;
  for (Path& path : blocks_below(program.body))
    if (as_block(path.back())->name != but && reads(path.back(), buffer)) found.push_back(std::move(path));
  return found;
}

// The single load of the buffer; null: there is none, or it is loaded at several places.
const LoadExpr* load_of(const Expr& expr, const BufferNode* buffer) {
  const LoadExpr* found = nullptr;
  bool several = false;
  visit_exprs(expr, [&](const Expr& e) {
    const auto* n = std::get_if<LoadExpr>(&e->node);
    if (n == nullptr || n->buffer.get() != buffer) return;
    several |= found != nullptr && !equal(found->indices, n->indices);
    found = n;
  });
  return several ? nullptr : found;
}

// Maps the iterators of `from` to those of `to`, by position.
VarMap as_iterators(const Block& from, const Block& to) {
  VarMap map;
  for (std::size_t i = 0; i < from.iterators.size(); ++i) map[from.iterators[i].var.get()] = ref(to.iterators[i].var);
  return map;
}

}  // namespace

Result<WeightedSoftmax> require_weighted_softmax(const Program& program, std::string_view weighted,
                                                 std::string_view primitive) {
  const auto refused = [&](const char* why) {
    return refuse(primitive, weighted, why, "name the product of a softmax and a matrix, and apply this step first");
  };
  WeightedSoftmax found;
  DOVETAIL_ASSIGN(found.weighted, require_block(program, weighted, primitive));
  const Block& product = *as_block(found.weighted.back());
  DOVETAIL_ASSIGN(found.product, require_contraction(found.weighted, primitive));
  if (!stores_in_order(product, 1))
    return refused("the block must store in the order of its iterators, and have one sum");
  const std::size_t rank = product.iterators.size();  // a batch, rows, width, depth
  if (rank < 3) return refused("the result has no rows and columns");
  found.batch = rank - 3;
  if (found.product.left.type != product.writes.front().buffer->dtype || !is_floating(found.product.left.type))
    return refused("the products are not floating-point numbers of the sum's type");

  // exp of the values loaded by the left factor.
  std::optional<Path> exp;
  visit_exprs(found.product.left.stored, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node); n != nullptr && !exp)
      exp = only_writer(program, n->buffer.get());
  });
  if (!exp) return refused("the left factor is not computed by a single block");
  found.exp = *exp;
  const Block& power = *as_block(found.exp.back());
  if (power.init || !stores_in_order(power, 0) || power.iterators.size() != rank - 1)
    return refused("the left factor is not a plain store of a row's elements");
  const StoreTarget& stored = *only_target(power);
  const auto* raised = std::get_if<Unary>(&stored.value->node);
  const auto* difference =
      raised != nullptr && raised->op == UnaryOp::exp ? std::get_if<Binary>(&raised->a->node) : nullptr;
  if (difference == nullptr || difference->op != BinaryOp::sub)
    return refused("the left factor is not exp of a difference");
  const auto* largest = std::get_if<LoadExpr>(&difference->b->node);
  if (largest == nullptr || !equal(largest->indices, iterators_of(power, rank - 2)))
    return refused("the exponent does not subtract a value common to the row");
  found.x = difference->a;
  found.type = found.x->dtype;

  const LoadExpr* weight = load_of(found.product.left.stored, stored.buffer.get());
  std::vector<Expr> place = iterators_of(product, rank - 2);
  place.push_back(ref(product.iterators.back().var));
  if (weight == nullptr || !equal(weight->indices, place))
    return refused("the left factor is not a row of the softmax");
  for (const Iterator& iterator : product.iterators) {
    const std::size_t at = static_cast<std::size_t>(&iterator - product.iterators.data());
    if (at == rank - 3 && mentions(found.product.right.stored, iterator.var))
      return refused("the right factor differs between rows");
  }

  const auto maximum = only_writer(program, largest->buffer.get());
  if (!maximum) return refused("the row's largest value is not computed by a single block");
  found.largest = *maximum;
  const Block& max = *as_block(found.largest.back());
  const Expr value = joined(max, BinaryOp::max);
  if (!value || max.iterators.size() != rank - 1 ||
      !structurally_equal(substitute(value, as_iterators(max, power)), found.x))
    return refused("the value subtracted from the exponent is not the largest of the row");

  for (const Path& path : readers(program, stored.buffer.get(), weighted)) {
    const Block& block = *as_block(path.back());
    const Expr summed = joined(block, BinaryOp::add);
    const auto* element = summed ? std::get_if<LoadExpr>(&summed->node) : nullptr;
    if (!found.sum.empty() || element == nullptr || !equal(element->indices, iterators_of(block, rank - 1)))
      return refused("the softmax is read by more than its sum");
    found.sum = path;
  }
  if (found.sum.empty()) return refused("the softmax is not summed up");

  const BufferNode *sums = only_target(*as_block(found.sum.back()))->buffer.get(),
                   *totals = only_target(product)->buffer.get();
  const std::vector<Path> ends = readers(program, totals, weighted),
                          divides = readers(program, sums, as_block(found.sum.back())->name);
  if (ends.size() != 1 || divides.size() != 1 || ends[0].back() != divides[0].back() ||
      readers(program, largest->buffer.get(), max.name).size() != 1)
    return refused("the result and the sum are not read by exactly one block");
  found.last = ends[0];
  const Block& last = *as_block(found.last.back());
  DOVETAIL_ASSIGN(const StoreTarget target, require_plain_store(last, primitive));
  const LoadExpr *total = load_of(target.value, totals), *sum = load_of(target.value, sums);
  const auto dimensions = total == nullptr ? std::nullopt : dimensions_of(last, total->indices, *totals);
  if (sum == nullptr || !dimensions || !one_to_one(last, *dimensions) ||
      last.iterators.size() != totals->shape.size() ||
      !equal(sum->indices, {total->indices.begin(), total->indices.end() - 1}))
    return refused("the result is not read element by element");

  const std::vector<const Path*> all{&found.largest, &found.exp, &found.sum, &found.weighted, &found.last};
  std::vector<std::size_t> places;
  for (const Path* path : all) {
    if (!is_as_defined(*path)) return refused("the blocks are not alone in nests of one serial loop for each iterator");
    if (!std::ranges::all_of(as_block(path->back())->writes, [&](const Region& region) {
          return path == &found.last || is_allocation(program, region.buffer);
        }))
      return refused("an intermediate buffer is an output of the program");
    places.push_back(top_position(program, *path));
  }
  const auto [first, end] = std::ranges::minmax(places);
  if (end - first + 1 != all.size()) return refused("other loop nests are between those of the softmax");
  found.rows = product.iterators[rank - 3].extent;
  found.width = product.iterators[rank - 2].extent;
  found.columns = product.iterators[rank - 1].extent;
  return found;
}

}  // namespace dovetail::schedule
