#include "compiler/schedule/contraction.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/schedule/block_form.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kRemedy = "name a block that sums products of two factors, before other steps";

// The factors of s[...] = s[...] + a * b.
std::optional<std::pair<Expr, Expr>> factors_of(const Block& block) {
  const auto* start = block.init ? std::get_if<Store>(&block.init->node) : nullptr;
  const auto* update = std::get_if<Store>(&block.body->node);
  if (start == nullptr || update == nullptr || start->targets.size() != 1 || update->targets.size() != 1 ||
      !is_positive_zero(start->targets[0].value))
    return std::nullopt;
  const StoreTarget& target = update->targets[0];
  const auto* sum = std::get_if<Binary>(&target.value->node);
  if (sum == nullptr || sum->op != BinaryOp::add) return std::nullopt;
  const Expr self = load(target.buffer, target.indices);
  const bool first = structurally_equal(sum->a, self);
  if (!first && !structurally_equal(sum->b, self)) return std::nullopt;
  const auto* product = std::get_if<Binary>(&(first ? sum->b : sum->a)->node);
  if (product == nullptr || product->op != BinaryOp::mul) return std::nullopt;
  bool reads_sum = false;
  for (const Expr& factor : {product->a, product->b})
    visit_exprs(factor, [&](const Expr& e) {
      const auto* access = std::get_if<LoadExpr>(&e->node);
      reads_sum |= access != nullptr && access->buffer == target.buffer;
    });
  if (reads_sum) return std::nullopt;
  return std::pair(product->a, product->b);
}

// Whether the innermost dimension that varies is indexed by a reduce iterator. Batch iterators, including one that
// selects a part of the depth (rfactor), count as constant.
bool is_depth_last(const Block& block, const std::vector<std::size_t>& batch, const Expr& factor) {
  std::optional<bool> depth;
  visit_exprs(factor, [&](const Expr& e) {
    const auto* access = std::get_if<LoadExpr>(&e->node);
    if (access == nullptr || depth) return;
    for (std::size_t d = access->indices.size(); d-- > 0 && !depth;) {
      bool spatial = false, reduce = false;
      for (std::size_t i = 0; i < block.iterators.size(); ++i) {
        const Iterator& iterator = block.iterators[i];
        if (iterator.extent <= 1 || !mentions(access->indices[d], iterator.var)) continue;
        if (std::ranges::find(batch, i) == batch.end()) (iterator.kind == IterKind::reduce ? reduce : spatial) = true;
      }
      if (spatial || reduce) depth = !spatial;
    }
  });
  return depth.value_or(false);
}

Contraction::Factor factor_of(const Block& block, const std::vector<std::size_t>& batch, const Expr& value) {
  const auto* widened = std::get_if<Cast>(&value->node);
  const bool smaller = widened != nullptr && size_bytes(widened->a->dtype) < size_bytes(value->dtype);
  return {smaller ? widened->a : value, value->dtype, {}, is_depth_last(block, batch, value)};
}

// Moves all iterators with more than one value, except the last two, to the batch.
void shorten(const Block& block, std::vector<std::size_t>& iterators, std::vector<std::size_t>& batch) {
  constexpr auto kMost = 2;
  const auto counts = [&](std::size_t i) { return block.iterators[i].extent > 1; };
  for (auto most = std::ranges::count_if(iterators, counts); most > kMost;) {
    if (counts(iterators.front())) --most;
    batch.push_back(iterators.front());
    iterators.erase(iterators.begin());
  }
  std::ranges::sort(batch);
}

}  // namespace

std::int64_t Contraction::extent(const Block& block, const std::vector<std::size_t>& iterators) const {
  std::int64_t product = 1;
  for (const std::size_t i : iterators) product *= block.iterators[i].extent;
  return product;
}

Result<Contraction> require_contraction(const Path& path, std::string_view primitive) {
  const Block& block = *as_block(path.back());
  DOVETAIL_TRY(require_no_inner_block(block, primitive, block.name));
  if (!is_as_defined(path))
    return refuse(primitive, block.name, "the block is not alone in a nest of one serial loop for each iterator",
                  "apply this step first");
  auto factors = factors_of(block);
  if (!factors)
    return refuse(primitive, block.name, "the block is not a sum of products that starts at 0", std::string(kRemedy));
  Contraction made;
  made.target = std::get<Store>(block.body->node).targets[0];
  const auto dimensions = dimensions_of(block, made.target.indices, *made.target.buffer);
  if (!dimensions || !one_to_one(block, *dimensions))
    return refuse(primitive, block.name, "the block does not store at distinct spatial iterators",
                  std::string(kRemedy));
  for (std::size_t i = 0; i < block.iterators.size(); ++i) {
    const Iterator& iterator = block.iterators[i];
    const bool in_first = mentions(factors->first, iterator.var), in_second = mentions(factors->second, iterator.var);
    if (iterator.kind == IterKind::reduce) made.depth.push_back(i);
    else if (iterator.kind != IterKind::spatial || (!in_first && !in_second && iterator.extent > 1))
      return refuse(primitive, block.name, "no factor depends on iterator " + iterator.var->name, std::string(kRemedy));
    else if (in_first == in_second) made.batch.push_back(i);
    else (in_first ? made.rows : made.columns).push_back(i);
  }
  // The innermost dimension of the result.
  const auto innermost = [&](const std::vector<std::size_t>& iterators) {
    int last = -1;
    for (const std::size_t i : iterators)
      if (block.iterators[i].extent > 1) last = std::max(last, (*dimensions)[i]);
    return last;
  };
  if (innermost(made.rows) > innermost(made.columns)) {
    std::swap(made.rows, made.columns);
    std::swap(factors->first, factors->second);
  }
  shorten(block, made.rows, made.batch);
  shorten(block, made.columns, made.batch);
  made.left = factor_of(block, made.batch, factors->first);
  made.right = factor_of(block, made.batch, factors->second);
  for (const std::size_t i : made.batch)
    for (Contraction::Factor* factor : {&made.left, &made.right})
      if (mentions(factor->stored, block.iterators[i].var)) factor->batch.push_back(i);
  return made;
}

}  // namespace dovetail::schedule
