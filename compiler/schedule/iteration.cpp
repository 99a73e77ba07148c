#include "compiler/schedule/iteration.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "loops/facts.h"
#include "loops/linear.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::int64_t kPointsToTry = 4096;

struct Extent {
  Var var;
  std::int64_t extent;
};
using Extents = std::vector<Extent>;

Bounds extent_bounds(const Extents& extents) {
  Bounds bounds;
  for (const auto& [var, extent] : extents) bounds[var.get()] = {0, std::max<std::int64_t>(extent - 1, 0)};
  return bounds;
}

bool mentions_any(const Expr& expr, const std::set<const VarNode*>& vars) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* reference = std::get_if<VarRef>(&e->node)) found |= vars.count(reference->var.get()) != 0;
  });
  return found;
}

// x // c or x % c with a positive constant c.
struct Quotient {
  bool remainder;
  Expr of;
  std::int64_t by;
};
std::optional<Quotient> as_quotient(const Expr& expr) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (!n || (n->op != BinaryOp::floor_div && n->op != BinaryOp::floor_mod)) return std::nullopt;
  const auto* by = std::get_if<IntImm>(&n->b->node);
  if (!by || by->value < 1) return std::nullopt;
  return Quotient{n->op == BinaryOp::floor_mod, n->a, by->value};
}

// ---- Every value occurs
// --------------------------------------------------------------------------------------------------------------

// Whether `predicate` holds whenever all `values` are in [0, extents).
bool implied(const Expr& predicate, const std::vector<Expr>& values, const std::vector<std::int64_t>& extents,
             const Bounds& bounds) {
  if (const auto* both = std::get_if<Binary>(&predicate->node); both && both->op == BinaryOp::logical_and)
    return implied(both->a, values, extents, bounds) && implied(both->b, values, extents, bounds);
  const Expr simple = simplify(predicate, bounds);
  if (const auto* decided = std::get_if<IntImm>(&simple->node)) return decided->value != 0;
  const auto* comparison = std::get_if<Binary>(&simple->node);
  if (!comparison || comparison->a->dtype != DType::int64) return false;
  Facts facts(bounds);
  for (std::size_t i = 0; i < values.size(); ++i)
    facts.assume(
        logical_and(binary(BinaryOp::ge, values[i], int_imm(0)), binary(BinaryOp::lt, values[i], int_imm(extents[i]))));
  switch (comparison->op) {
    case BinaryOp::lt: return facts.non_negative(linear_form(comparison->b - comparison->a - 1));
    case BinaryOp::le: return facts.non_negative(linear_form(comparison->b - comparison->a));
    case BinaryOp::gt: return facts.non_negative(linear_form(comparison->a - comparison->b - 1));
    case BinaryOp::ge: return facts.non_negative(linear_form(comparison->a - comparison->b));
    default: return false;
  }
}

// A digit of a mixed-radix number X: X // low % (high / low), or X // low for the highest one (high = 0).
struct Digit {
  Expr of;  // X
  std::int64_t low = 1, high = 0;
};
Digit as_digit(const Expr& expr) {
  const auto quotient = as_quotient(expr);
  if (!quotient) return {expr};
  if (!quotient->remainder) return {quotient->of, quotient->by, 0};
  const auto inner = as_quotient(quotient->of);
  return inner && !inner->remainder ? Digit{inner->of, inner->by, inner->by * quotient->by}
                                    : Digit{quotient->of, 1, quotient->by};
}

// Weights with the largest digit of each.
using Weights = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The largest number such that all numbers from 0 to it are sums of such digits; nullopt: there are gaps.
std::optional<std::int64_t> reach_of(Weights digits) {
  std::sort(digits.begin(), digits.end());
  std::int64_t reach = 0;
  for (const auto& [weight, largest] : digits) {
    if (weight > reach + 1) return std::nullopt;
    reach += weight * largest;
  }
  return reach;
}

// The variables of a nest, each in only one number: the variable itself, or a sum of several that takes all values up
// to a maximum.
class Numbers {
 public:
  explicit Numbers(const Extents& vars) : bounds_(extent_bounds(vars)) {}

  // The largest digit; nullopt if the number does not take all values, or another one uses its variables or that digit.
  std::optional<std::int64_t> largest(const Digit& digit) {
    const auto number = numbers_.find(loops::to_string(digit.of));
    const auto largest = number != numbers_.end() ? std::optional(number->second.largest) : add(digit.of);
    if (!largest) return std::nullopt;
    // Digits that are split at multiples of one another.
    Number& whole = numbers_.at(loops::to_string(digit.of));
    for (const auto& [low, high] : whole.digits) {
      const bool below = digit.high != 0 && digit.high <= low && low % digit.high == 0;
      const bool above = high != 0 && high <= digit.low && digit.low % high == 0;
      if (!below && !above) return std::nullopt;
    }
    whole.digits.emplace_back(digit.low, digit.high);
    if (digit.high > *largest + 1) return std::nullopt;
    return std::max<std::int64_t>((digit.high != 0 ? digit.high : *largest + 1) / digit.low, 1) - 1;
  }

 private:
  struct Number {
    std::int64_t largest;
    std::vector<std::pair<std::int64_t, std::int64_t>> digits;
  };

  std::optional<std::int64_t> add(const Expr& expr) {
    const Linear form = linear_form(expr);
    if (form.constant != 0) return std::nullopt;
    Weights weights;
    for (const LinearTerm& term : form.terms) {
      const auto* reference = std::get_if<VarRef>(&term.atom->node);
      if (!reference || term.coefficient < 1 || !used_.insert(reference->var.get()).second) return std::nullopt;
      const auto range = bounds_.find(reference->var.get());
      if (range == bounds_.end()) return std::nullopt;
      weights.emplace_back(term.coefficient, range->second.max);
    }
    const auto reach = reach_of(std::move(weights));
    if (reach) numbers_.emplace(loops::to_string(expr), Number{*reach, {}});
    return reach;
  }

  Bounds bounds_;
  std::map<std::string, Number> numbers_;
  std::set<const VarNode*> used_;
};

// Each value is a mixed-radix number of digits that no other value uses.
bool digits_cover(const std::vector<Expr>& values, const std::vector<std::int64_t>& extents, const Extents& vars) {
  Numbers numbers(vars);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Linear form = linear_form(simplify(values[i], extent_bounds(vars)));
    Weights digits;
    for (const LinearTerm& term : form.terms) {
      const auto largest = numbers.largest(as_digit(term.atom));
      if (!largest || term.coefficient < 1) return false;
      digits.emplace_back(term.coefficient, *largest);
    }
    const auto reach = reach_of(std::move(digits));
    if (!reach || form.constant > 0 || form.constant + *reach < extents[i] - 1) return false;
  }
  return true;
}

// Iterates over all points.
bool points_cover(const std::vector<Expr>& values, const std::vector<std::int64_t>& extents, const Extents& vars,
                  const Expr& predicate) {
  std::int64_t points = 1, cells = 1;
  for (const auto& [var, extent] : vars)
    if ((points *= std::min(extent, kPointsToTry + 1)) > kPointsToTry) return false;
  for (const std::int64_t extent : extents)
    if ((cells *= std::min(extent, kPointsToTry + 1)) > kPointsToTry) return false;
  std::vector<bool> hit(static_cast<std::size_t>(cells));
  std::map<const VarNode*, std::int64_t> at;
  for (std::int64_t point = 0; point < points; ++point) {
    std::int64_t rest = point, cell = 0;
    for (const auto& [var, extent] : vars) at[var.get()] = rest % extent, rest /= extent;
    if (predicate && evaluate(predicate, at).value_or(0) == 0) continue;
    for (std::size_t i = 0; i < values.size() && cell >= 0; ++i) {
      const auto value = evaluate(values[i], at);
      if (!value) return false;
      cell = *value < 0 || *value >= extents[i] ? -1 : cell * extents[i] + *value;
    }
    if (cell >= 0) hit[static_cast<std::size_t>(cell)] = true;
  }
  return std::all_of(hit.begin(), hit.end(), [](bool b) { return b; });
}

// Every point of the box [0, extents) is a value that some point of `vars` gives where `predicate` (may be null) holds.
bool covers_box(const std::vector<Expr>& values, const std::vector<std::int64_t>& extents, const Extents& vars,
                const Expr& predicate) {
  for (const auto& [var, extent] : vars)
    if (extent < 1) return false;
  for (const Expr& value : values)
    if (value->dtype != DType::int64) return false;
  if (digits_cover(values, extents, vars) && (!predicate || implied(predicate, values, extents, extent_bounds(vars))))
    return true;
  return points_cover(values, extents, vars, predicate);
}

// ---- Reductions
// ----------------------------------------------------------------------------------------------------------------------

// Whether equal values of expressions imply equal values of variables, everything else being fixed. An expression is
// characterized by the length of the window that contains it: 1 is its value; x // c leaves x a window of c times the
// length, and x % c pins x in a window of at most c.
class Decoder {
 public:
  // `others` are not fixed either, and may remain unknown.
  Decoder(std::set<const VarNode*> unknowns, Bounds bounds, const std::set<const VarNode*>& others = {})
      : unknowns_(std::move(unknowns)), moving_(unknowns_), bounds_(std::move(bounds)) {
    moving_.insert(others.begin(), others.end());
  }

  // `slacks`: the tolerance for equality, for each value; empty: 0.
  bool decodes(const std::vector<Expr>& values, const std::vector<std::int64_t>& slacks = {}) {
    for (std::size_t i = 0; i < values.size(); ++i) known(simplify(values[i], bounds_), slacks.empty() ? 0 : slacks[i]);
    for (bool changed = true; changed;) {
      const std::size_t before = decoded_.size();
      for (const Quotient& remainder : std::vector<Quotient>(remainders_))
        if (window(remainder.of) <= remainder.by && decoded_.insert(loops::to_string(remainder.of)).second)
          known(remainder.of);
      changed = decoded_.size() != before;
    }
    return std::all_of(unknowns_.begin(), unknowns_.end(), [&](const VarNode* var) { return vars_.count(var) != 0; });
  }

 private:
  // The number of values of an expression: the span of its terms that move.
  std::int64_t window(const Expr& expr) const {
    std::int64_t span = 1;
    for (const LinearTerm& term : linear_form(expr).terms) {
      if (!mentions_any(term.atom, moving_)) continue;
      const auto range = bound(term.atom, bounds_);
      if (!range) return INT64_MAX;
      span += std::abs(term.coefficient) * (range->max - range->min);
    }
    const auto it = windows_.find(loops::to_string(expr));
    if (it != windows_.end()) span = std::min(span, it->second);
    // Windows begin at multiples of their length: for example, x // 30 determines x // 6 up to one of 5 values.
    const auto quotient = as_quotient(expr);
    const auto of = quotient && !quotient->remainder ? windows_.find(loops::to_string(quotient->of)) : windows_.end();
    if (of != windows_.end() && of->second % quotient->by == 0) span = std::min(span, of->second / quotient->by);
    return span;
  }

  void known(const Expr& expr, std::int64_t slack = 0) {
    // A sum determines its terms if each weight exceeds the maximum of the smaller ones plus the slack.
    std::vector<std::pair<std::int64_t, Expr>> terms;
    for (const LinearTerm& term : linear_form(expr).terms)
      if (mentions_any(term.atom, moving_)) terms.emplace_back(std::abs(term.coefficient), term.atom);
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t reach = slack;
    for (const auto& [weight, atom] : terms) {
      const auto range = bound(atom, bounds_);
      if (!range || (weight <= reach && range->max != range->min)) return;
      reach += weight * (range->max - range->min);
    }
    for (const auto& [weight, atom] : terms) {
      if (const auto* reference = std::get_if<VarRef>(&atom->node)) vars_.insert(reference->var.get());
      const auto quotient = as_quotient(atom);
      if (!quotient) continue;
      if (quotient->remainder) remainders_.push_back(*quotient);
      else narrow(quotient->of, quotient->by);
    }
  }

  void narrow(const Expr& expr, std::int64_t length) {
    const auto [it, fresh] = windows_.emplace(loops::to_string(expr), length);
    it->second = std::min(it->second, length);
    if (const auto quotient = as_quotient(expr); quotient && !quotient->remainder)
      narrow(quotient->of, length * quotient->by);
  }

  std::set<const VarNode*> unknowns_, moving_, vars_;
  Bounds bounds_;
  std::map<std::string, std::int64_t> windows_;
  std::vector<Quotient> remainders_;
  std::set<std::string> decoded_;
};

// Whether all values are 0 only if all variables are: sums of non-negative terms are 0 if each term is.
class ZeroSolver {
 public:
  explicit ZeroSolver(Bounds bounds) : bounds_(std::move(bounds)) {}

  bool only_at_origin(const std::vector<Expr>& values, const std::set<const VarNode*>& vars) {
    for (int round = 0; round < 8; ++round)
      for (const Expr& value : values)
        if (!at_most(value, 0)) return false;
    return std::all_of(vars.begin(), vars.end(), [&](const VarNode* var) { return bounds_.at(var).max == 0; });
  }

 private:
  // Records that expr <= limit. False if a term may be negative.
  bool at_most(const Expr& expr, std::int64_t limit) {
    const Linear form = linear_form(expr);
    if (form.constant < 0) return false;
    for (const LinearTerm& term : form.terms) {
      const auto range = bound(term.atom, bounds_);
      if (!range || range->min < 0 || term.coefficient < 0) return false;
    }
    if (form.constant > limit) return false;  // never 0: the reduction has no start
    for (const LinearTerm& term : form.terms) {
      const std::int64_t most = (limit - form.constant) / term.coefficient;
      if (const auto* reference = std::get_if<VarRef>(&term.atom->node)) {
        const auto it = bounds_.find(reference->var.get());
        if (it != bounds_.end()) it->second.max = std::min(it->second.max, most);
      } else if (const auto quotient = as_quotient(term.atom)) {
        if (!quotient->remainder && !at_most(quotient->of, (most + 1) * quotient->by - 1)) return false;
        const auto range = bound(quotient->of, bounds_);
        if (quotient->remainder && range && range->max < quotient->by && !at_most(quotient->of, most)) return false;
      }
    }
    return true;
  }

  Bounds bounds_;
};

}  // namespace

bool runs_over_all(const Path& path, const Expr& predicate) {
  const Block& block = *as_block(path.back());
  Extents loops;
  for (const Stmt& stmt : path) {
    if (std::holds_alternative<If>(stmt->node)) return false;
    if (const For* loop = as_for(stmt)) loops.push_back({loop->var, loop->extent});
  }
  std::vector<Expr> values;
  std::vector<std::int64_t> extents;
  for (const Iterator& iterator : block.iterators)
    values.push_back(iterator.binding), extents.push_back(iterator.extent);
  return covers_box(values, extents, loops, predicate ? substitute(predicate, bindings_of(block)) : nullptr);
}

bool holds_in_range(const Block& block, const Expr& term, const Bounds& loops) {
  std::vector<Expr> values;
  std::vector<std::int64_t> extents;
  for (const Iterator& iterator : block.iterators)
    values.push_back(iterator.binding), extents.push_back(iterator.extent);
  return implied(substitute(term, bindings_of(block)), values, extents, loops);
}

bool writes_whole(const Path& path, const BufferNode& buffer) {
  const Block& block = *as_block(path.back());
  const auto* assignment = std::get_if<Store>(&block.body->node);
  if (!assignment || !runs_over_all(path, block.predicate)) return false;
  Extents iterators;
  for (const Iterator& iterator : block.iterators) iterators.push_back({iterator.var, iterator.extent});
  return std::any_of(assignment->targets.begin(), assignment->targets.end(), [&](const StoreTarget& target) {
    return target.buffer.get() == &buffer && covers_box(target.indices, buffer.shape, iterators, nullptr);
  });
}

bool starts_once(const Block& block, const std::vector<const For*>& outside, const std::vector<const For*>& inside) {
  Bounds bounds = schedule::bounds_of(outside);
  for (const auto& [var, interval] : schedule::bounds_of(inside)) bounds[var] = interval;
  std::set<const VarNode*> moving;
  for (const For* loop : inside)
    if (loop->extent > 1) moving.insert(loop->var.get());
  std::vector<Expr> spatial, reduce;
  std::set<const VarNode*> reduce_vars, spatial_vars;
  for (const Iterator& iterator : block.iterators) {
    if (iterator.binding->dtype != DType::int64) return false;
    const bool reduces = iterator.kind == IterKind::reduce;
    (reduces ? reduce : spatial).push_back(iterator.binding);
    visit_exprs(iterator.binding, [&](const Expr& expr) {
      const auto* reference = std::get_if<VarRef>(&expr->node);
      if (reference && moving.count(reference->var.get()))
        (reduces ? reduce_vars : spatial_vars).insert(reference->var.get());
    });
  }
  std::set<const VarNode*> others;  // must be distinguished by the spatial iterators
  for (const VarNode* var : moving) {
    if (reduce_vars.count(var) && spatial_vars.count(var)) return false;
    if (!reduce_vars.count(var)) others.insert(var);
  }
  return Decoder(others, bounds).decodes(spatial) && ZeroSolver(bounds).only_at_origin(reduce, reduce_vars);
}

bool covers(const std::vector<Expr>& values, const std::vector<std::int64_t>& extents,
            const std::vector<const For*>& loops) {
  Extents vars;
  for (const For* loop : loops) vars.push_back({loop->var, loop->extent});
  return covers_box(values, extents, vars, nullptr);
}

bool holds_where(const Expr& predicate, const std::vector<Expr>& values, const std::vector<std::int64_t>& extents,
                 const Bounds& bounds) {
  return implied(predicate, values, extents, bounds);
}

bool distinguishes(const std::vector<Expr>& values, const std::vector<std::int64_t>& slacks,
                   const std::set<const VarNode*>& vars, const Bounds& bounds) {
  return Decoder(vars, bounds).decodes(values, slacks);
}

bool distinguishes_any(const std::vector<Expr>& values, const std::set<const VarNode*>& vars,
                       const std::set<const VarNode*>& others, const Bounds& bounds) {
  return Decoder(vars, bounds, others).decodes(values);
}

}  // namespace dovetail::schedule
