#include "loops/threads/box_copies.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "loops/linear.h"
#include "loops/rewrite.h"

namespace dovetail::loops {

namespace {

// Coordinates have 32 bits, and a box may begin beyond the end.
constexpr std::int64_t kMostTensorExtent = std::int64_t{1} << 30;
constexpr std::int64_t kMostStrideBytes = (std::int64_t{1} << 40) - 1;

// A part of a loop's variable, var / divisor % extent, that moves an index by `coefficient`.
struct Digit {
  const VarNode* var = nullptr;
  std::int64_t divisor = 1, extent = 1, coefficient = 1;
  bool operator==(const Digit&) const = default;
};

// Neighboring parts of a variable that form one number are merged.
std::vector<Digit> joined(std::vector<Digit> digits) {
  std::ranges::sort(digits, [](const Digit& a, const Digit& b) {
    return a.var != b.var ? std::less<>()(a.var, b.var) : a.divisor < b.divisor;
  });
  std::vector<Digit> list;
  for (const Digit& digit : digits) {
    const bool goes_on = !list.empty() && list.back().var == digit.var &&
                         digit.divisor == list.back().divisor * list.back().extent &&
                         digit.coefficient == list.back().coefficient * list.back().extent;
    if (goes_on) list.back().extent *= digit.extent;
    else list.push_back(digit);
  }
  std::ranges::sort(list, {}, &Digit::coefficient);
  return list;
}

// An index, split into the part common to all iterations and the digits that differ between them.
struct Split {
  Linear common;
  std::vector<Digit> digits;  // sorted by coefficient
};

using Extents = std::map<const VarNode*, std::int64_t>;

std::optional<Digit> digit_of(const Expr& atom, const Extents& loops) {
  if (const auto* n = std::get_if<VarRef>(&atom->node)) {
    const auto loop = loops.find(n->var.get());
    return loop == loops.end() ? std::nullopt : std::optional(Digit{loop->first, 1, loop->second, 1});
  }
  const auto* n = std::get_if<Binary>(&atom->node);
  if (n == nullptr || (n->op != BinaryOp::floor_div && n->op != BinaryOp::floor_mod)) return std::nullopt;
  const auto* by = std::get_if<IntImm>(&n->b->node);
  auto digit = digit_of(n->a, loops);
  if (by == nullptr || !digit || by->value <= 0 || digit->extent % by->value != 0) return std::nullopt;
  if (n->op == BinaryOp::floor_div) digit->divisor *= by->value, digit->extent /= by->value;
  else digit->extent = by->value;
  return digit;
}

bool mentions(const Expr& expr, const Extents& loops) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) {
    const auto* n = std::get_if<VarRef>(&e->node);
    found |= n != nullptr && loops.contains(n->var.get());
  });
  return found;
}

std::optional<Split> split(const Expr& index, const Extents& loops) {
  if (index->dtype != DType::int64) return std::nullopt;
  const Linear form = linear_form(index);
  Split made;
  made.common.constant = form.constant;
  for (const LinearTerm& term : form.terms) {
    if (!mentions(term.atom, loops)) {
      made.common.add(term.atom, term.coefficient);
      continue;
    }
    auto digit = digit_of(term.atom, loops);
    if (!digit) return std::nullopt;
    digit->coefficient = term.coefficient;
    made.digits.push_back(*digit);
  }
  made.digits = joined(std::move(made.digits));
  return made;
}

// True if the digits produce all numbers below `extent`, each once.
bool counts(const std::vector<Digit>& digits, std::int64_t extent) {
  std::int64_t next = 1;
  for (const Digit& digit : digits) {
    if (digit.coefficient != next) return false;
    next *= digit.extent;
  }
  return next == extent;
}

// True if each loop's variable is composed of some of the digits.
bool cover(std::vector<Digit> digits, const Extents& loops) {
  std::ranges::sort(digits, {}, &Digit::divisor);
  Extents done;
  for (const Digit& digit : digits) {
    std::int64_t& next = done.emplace(digit.var, 1).first->second;
    if (digit.divisor != next) return false;
    next *= digit.extent;
  }
  return std::ranges::all_of(loops, [&](const auto& loop) {
    const auto found = done.find(loop.first);
    return (found == done.end() ? 1 : found->second) == loop.second;
  });
}

// A dimension of the tensor.
struct Dimension {
  Expr index;
  Split split;
  std::int64_t extent = 1;
};

// The buffer's dimensions, merged where necessary, so that each is a dimension of the box or has no digits.
std::optional<std::vector<Dimension>> dimensions_of(const LoadExpr& load, const std::vector<Digit>& rows,
                                                    const std::vector<Digit>& columns, const Extents& loops,
                                                    const Bounds& bounds) {
  std::vector<Dimension> list;
  std::optional<Dimension> inner;  // the dimension that continues in the next one
  for (std::size_t d = load.indices.size(); d-- > 0;) {
    Dimension next{load.indices[d], {}, load.buffer->shape[d]};
    if (inner) {
      next.index = simplify(next.index * inner->extent + inner->index, bounds);
      next.extent *= inner->extent;
      inner.reset();
    }
    if (next.extent == 1) continue;
    const auto parts = split(next.index, loops);
    if (!parts || (!parts->digits.empty() && parts->digits != rows && parts->digits != columns)) {
      inner = std::move(next);
      continue;
    }
    next.split = *parts;
    list.insert(list.begin(), std::move(next));
  }
  return inner ? std::nullopt : std::optional(std::move(list));
}

// Whether the condition is true exactly for elements within the tensor.
bool says_inside(const Expr& condition, const std::vector<Dimension>& dimensions, const Bounds& bounds) {
  const auto* n = std::get_if<Binary>(&condition->node);
  if (n != nullptr && n->op == BinaryOp::logical_and)
    return says_inside(n->a, dimensions, bounds) && says_inside(n->b, dimensions, bounds);
  const Expr said = simplify(condition, bounds);
  return std::ranges::any_of(dimensions, [&](const Dimension& one) {
    const Expr below = binary(BinaryOp::lt, one.index, int_imm(one.extent));
    return structurally_equal(said, simplify(below, bounds));
  });
}

}  // namespace

std::optional<CoreBoxCopy> as_box_copy(const Chain& fetch, const Bounds& bounds, const BoxCopies& facts) {
  const StoreTarget& target = fetch.store->targets[0];
  const auto moved = Moved::of(target.value);
  const std::size_t rank = target.indices.size();
  if (!moved || moved->load->buffer->dtype != target.buffer->dtype || rank < 2) return std::nullopt;
  if (moved->condition && !moved->is_zero_otherwise()) return std::nullopt;
  Extents loops;
  for (const CoreLoop* loop : fetch.loops()) loops[loop->var.get()] = loop->extent;
  if (loops.size() != fetch.around.size()) return std::nullopt;  // under a condition not all elements are written

  std::vector<Split> to;
  std::vector<Digit> all;
  for (std::size_t d = 0; d < rank; ++d) {
    auto parts = split(simplify(target.indices[d], bounds), loops);
    if (!parts) return std::nullopt;
    const bool is_common = parts->common.constant == 0 && parts->common.terms.empty();
    const bool in_box = d + 2 >= rank;
    if (in_box ? !is_common || !counts(parts->digits, target.buffer->shape[d]) : !parts->digits.empty())
      return std::nullopt;
    all.insert(all.end(), parts->digits.begin(), parts->digits.end());
    to.push_back(*std::move(parts));
  }
  if (!cover(all, loops)) return std::nullopt;
  const std::vector<Digit>&rows = to[rank - 2].digits, &columns = to[rank - 1].digits;
  const auto dimensions = dimensions_of(*moved->load, rows, columns, loops, bounds);
  if (!dimensions || dimensions->empty() || dimensions->size() > facts.most_rank) return std::nullopt;
  if (moved->condition && !says_inside(moved->condition, *dimensions, bounds)) return std::nullopt;

  CoreBoxCopy copy;
  copy.to = target.buffer, copy.from = moved->load->buffer, copy.block = fetch.store->block;
  for (std::size_t d = 0; d < rank; ++d) copy.to_indices.push_back(to_expr(to[d].common));
  int boxes = 0;
  for (const Dimension& one : *dimensions) {
    const bool is_last = &one == &dimensions->back();
    const bool is_row = !is_last && !one.split.digits.empty();
    if (one.split.digits != (is_last ? columns : is_row ? rows : std::vector<Digit>{})) return std::nullopt;
    if (one.extent > kMostTensorExtent) return std::nullopt;
    boxes += is_last || is_row ? 1 : 0;
    copy.tensor.push_back(one.extent);
    copy.from_indices.push_back(simplify(to_expr(one.split.common), bounds));
    copy.box.push_back(is_last ? target.buffer->shape[rank - 1] : is_row ? target.buffer->shape[rank - 2] : 1);
  }
  if (boxes != 2) return std::nullopt;
  std::int64_t stride = size_bytes(copy.to->dtype);
  for (std::size_t d = copy.tensor.size(); d-- > 1;) {
    stride *= copy.tensor[d];
    if (stride % facts.alignment_bytes != 0 || stride > kMostStrideBytes) return std::nullopt;
  }
  return copy;
}

std::int64_t bytes_of_box(const CoreBoxCopy& copy) { return element_count(copy.box) * size_bytes(copy.to->dtype); }

}  // namespace dovetail::loops
