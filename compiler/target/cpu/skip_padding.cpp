#include "compiler/target/cpu/skip_padding.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/schedule/nest.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

// Positions per dimension that are checked one by one. For longer images or windows, padding is a small part.
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 20;

// Where block pad writes values other than zero padding, by the dimension of its result.
struct Inside {
  std::vector<std::vector<bool>> at;  // empty: everywhere
};

const Block* find(const Program& program, const std::string& name) {
  const auto path = schedule::find_block(program.body, name);
  return path ? schedule::as_block(path->back()) : nullptr;
}

// The dimension if `term` depends on that index only; nullopt otherwise.
std::optional<std::size_t> dimension_of(const Expr& term, const std::vector<Expr>& indices) {
  std::optional<std::size_t> found;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto* n = std::get_if<VarRef>(&indices[d]->node);
    if (n == nullptr || !schedule::mentions(term, n->var)) continue;
    if (found) return std::nullopt;
    found = d;
  }
  return found;
}

std::optional<Inside> inside_of(const StoreTarget& pad, const std::vector<Expr>& terms) {
  Inside inside{std::vector<std::vector<bool>>(pad.indices.size())};
  for (const Expr& term : terms) {
    const auto d = dimension_of(term, pad.indices);
    if (!d) return std::nullopt;
    const Var& var = std::get<VarRef>(pad.indices[*d]->node).var;
    if (pad.buffer->shape[*d] > kMostPlaces) return std::nullopt;
    std::vector<bool>& at = inside.at[*d];
    at.resize(static_cast<std::size_t>(pad.buffer->shape[*d]), true);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto holds = evaluate(term, {{var.get(), static_cast<std::int64_t>(i)}});
      if (!holds) return std::nullopt;
      at[i] = at[i] && *holds != 0;
    }
  }
  return inside;
}

// The share of all points of the iterators in `index` for which it is inside.
std::optional<double> part_inside(const Block& main, const Expr& index, const std::vector<bool>& inside) {
  if (inside.empty()) return 1.0;
  const auto form = affine(index);
  if (!form) return std::nullopt;
  std::vector<std::int64_t> places{form->constant};
  for (const auto& [var, step] : form->coefficients) {
    const auto at = std::ranges::find_if(main.iterators, [&, &v = var](const Iterator& i) { return i.var.get() == v; });
    if (at == main.iterators.end() || at->extent == 0 ||
        at->extent > kMostPlaces / static_cast<std::int64_t>(places.size()))
      return std::nullopt;
    std::vector<std::int64_t> more;
    for (const std::int64_t place : places)
      for (std::int64_t i = 0; i < at->extent; ++i) more.push_back(place + i * step);
    places = std::move(more);
  }
  const auto count = std::ranges::count_if(places, [&](std::int64_t place) {
    return place >= 0 && place < static_cast<std::int64_t>(inside.size()) && inside[static_cast<std::size_t>(place)];
  });
  return static_cast<double>(count) / static_cast<double>(places.size());
}

// The terms of the condition under which `value` is not zero padding. Terms about channels are those of extend_product,
// which also makes the weights of further channels zeros: they are left out. Empty if there is no padding with zeros.
std::vector<Expr> terms_inside(const Expr& value, const std::vector<Expr>& indices) {
  constexpr std::size_t kChannel = 1;
  const auto* padded = std::get_if<Select>(&value->node);
  if (padded == nullptr) return {};
  std::vector<Expr> terms = schedule::conjuncts(padded->condition);
  std::erase_if(terms, [&](const Expr& term) { return dimension_of(term, indices) == kChannel; });
  if (terms.empty()) return terms_inside(padded->if_true, indices);
  return schedule::is_positive_zero(padded->if_false) ? terms : std::vector<Expr>();
}

}  // namespace

std::optional<SkippedPadding> skip_padding(const Program& program, const std::string& main) {
  const Block *block = find(program, main), *pad = find(program, "pad");
  if (block == nullptr || pad == nullptr || !block->init || block->predicate || pad->predicate) return std::nullopt;
  const auto *sum = std::get_if<Store>(&block->body->node), *start = std::get_if<Store>(&block->init->node);
  const auto* copy = std::get_if<Store>(&pad->body->node);
  if (sum == nullptr || start == nullptr || copy == nullptr || sum->targets.size() != 1) return std::nullopt;
  const auto* add = std::get_if<Binary>(&sum->targets[0].value->node);
  const std::vector<Expr> terms = terms_inside(copy->targets[0].value, copy->targets[0].indices);
  if (add == nullptr || add->op != BinaryOp::add || terms.empty()) return std::nullopt;
  const auto* product = std::get_if<Binary>(&add->b->node);
  const Expr zero = start->targets[0].value;
  if (product == nullptr || product->op != BinaryOp::mul || !schedule::is_positive_zero(zero)) return std::nullopt;
  // One factor is the padded element, possibly converted.
  const LoadExpr* element = nullptr;
  for (const Expr& factor : {product->a, product->b}) {
    const auto* converted = std::get_if<Cast>(&factor->node);
    const auto* load = std::get_if<LoadExpr>(&(converted != nullptr ? converted->a : factor)->node);
    if (load != nullptr && load->buffer == copy->targets[0].buffer) element = load;
  }
  if (element == nullptr) return std::nullopt;
  const auto inside = inside_of(copy->targets[0], terms);
  if (!inside) return std::nullopt;
  VarMap places;
  double multiplied = 1;
  for (std::size_t d = 0; d < element->indices.size(); ++d) {
    const auto part = part_inside(*block, element->indices[d], inside->at[d]);
    if (!part) return std::nullopt;
    multiplied *= *part;
    if (const auto* n = std::get_if<VarRef>(&copy->targets[0].indices[d]->node))
      places[n->var.get()] = element->indices[d];
  }
  if (multiplied == 1) return std::nullopt;
  Expr condition;
  for (const Expr& term : terms) condition = schedule::conjunction(condition, substitute(term, places));
  const StoreTarget& target = sum->targets[0];
  Block skipping = *block;
  skipping.body = store(target.buffer, target.indices, binary(BinaryOp::add, add->a, select(condition, add->b, zero)));
  SkippedPadding result{program, 1 - multiplied};
  result.program.body = rewrite_stmt(program.body, [&](const Stmt& stmt) -> Stmt {
    const auto* n = std::get_if<Block>(&stmt->node);
    return n != nullptr && n->name == main ? make_stmt(schedule::with_inferred_regions(Block(skipping))) : stmt;
  });
  return result;
}

}  // namespace dovetail::cpu
