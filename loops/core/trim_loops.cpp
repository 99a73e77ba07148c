#include "loops/core/trim_loops.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "loops/core/guards.h"
#include "loops/linear.h"
#include "loops/range.h"
#include "loops/run_time_checks.h"

namespace dovetail::loops {
namespace {

// Values within these limits cannot overflow in the sums below.
constexpr std::int64_t kMostValue = std::int64_t{1} << 40;
constexpr std::int64_t kMostCoefficient = 1024;
constexpr std::size_t kMostTerms = 16;
// A bound without loads must leave out a quarter of the iterations of such a loop in the best case.
constexpr std::int64_t kLongLoop = 32;

// The conditions under which everything in a loop's body is, and the loops inside around them.
struct Guards {
  std::vector<Expr> terms;
  std::set<const VarNode*> inner;
};

void collect(const Core& core, bool evaluated, Guards& guards) {
  const auto add = [&](const Expr& condition) {
    // A load under another condition need not be in bounds before the loop.
    for (const Expr& term : terms_of(condition))
      if (evaluated || !holds_load(term)) guards.terms.push_back(term);
  };
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    guards.inner.insert(loop->var.get());
    return collect(loop->body, evaluated, guards);
  }
  if (const auto* n = std::get_if<CoreIf>(&core->node); n != nullptr && !n->else_body) {
    add(n->condition);
    return collect(n->then_body, false, guards);
  }
  if (const auto* store = std::get_if<CoreStore>(&core->node))
    if (const Expr condition = condition_of(*store)) add(condition);
}

class Trimmer {
 public:
  explicit Trimmer(const Bounds& bounds) : bounds_(bounds) {}

  Core trimmed(const Core& core) const {
    if (!core) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return trimmed(*loop);
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return make_core(CoreIf{n->condition, trimmed(n->then_body), trimmed(n->else_body)});
    const auto* sequence = std::get_if<CoreSequence>(&core->node);
    if (sequence == nullptr) return core;
    CoreSequence result;
    for (const Core& inner : sequence->body) result.body.push_back(trimmed(inner));
    return make_core(std::move(result));
  }

 private:
  Core trimmed(const CoreLoop& n) const {
    CoreLoop loop = n;
    loop.body = trimmed(n.body);
    const Writes writes = writes_of(n.body);
    if (n.kind != ForKind::serial || writes.unknown) return make_core(std::move(loop));
    if (n.first || n.end) return make_core(std::move(loop));  // by rebase_loops
    Guards guards;
    collect(n.body, true, guards);
    for (const Expr& term : guards.terms) bound(loop, term, guards.inner, writes.buffers);
    const auto* condition = std::get_if<CoreIf>(&n.body->node);
    if (condition != nullptr && !condition->else_body && holds_load(condition->condition) &&
        !mentions(condition->condition, {n.var.get()}))
      loop.proceed = condition->condition;
    return make_core(std::move(loop));
  }

  // Bounds the loop by a comparison of int64. Neither side may wrap, since the difference then has another sign.
  void bound(CoreLoop& loop, const Expr& term, const std::set<const VarNode*>& inner,
             const std::set<const BufferNode*>& written) const {
    const auto* n = std::get_if<Binary>(&term->node);
    if (n == nullptr || n->a->dtype != DType::int64) return;
    const Linear a = linear_form(n->a), b = linear_form(n->b);
    const auto values = values_of({&a, &b}, loop, inner, written);
    if (!values) return;
    const auto at_least = [&](const Linear& large, const Linear& small, std::int64_t margin) {
      Linear form = large;
      form.add(small, -1);
      form.constant -= margin;
      bound(loop, form, inner, *values);
    };
    switch (n->op) {
      case BinaryOp::lt: return at_least(b, a, 1);
      case BinaryOp::le: return at_least(b, a, 0);
      case BinaryOp::gt: return at_least(a, b, 1);
      case BinaryOp::ge: return at_least(a, b, 0);
      case BinaryOp::eq: at_least(a, b, 0); return at_least(b, a, 0);
      default: return;
    }
  }

  // What is known of the values in a comparison.
  struct Values {
    Expr in_limits;  // whether all are within +-kMostValue; null: always
    bool loads = false;
  };

  // nullopt: the loop changes one of the values, or there are too many.
  std::optional<Values> values_of(std::initializer_list<const Linear*> sides, const CoreLoop& loop,
                                  const std::set<const VarNode*>& inner,
                                  const std::set<const BufferNode*>& written) const {
    std::set<const VarNode*> changing = inner;
    changing.insert(loop.var.get());
    Values result;
    for (const Linear* side : sides) {
      if (side->terms.size() > kMostTerms || !is_small(side->constant, kMostValue)) return std::nullopt;
      for (const LinearTerm& term : side->terms) {
        if (!is_small(term.coefficient, kMostCoefficient)) return std::nullopt;
        const auto* var = std::get_if<VarRef>(&term.atom->node);
        if (var != nullptr && changing.contains(var->var.get())) continue;
        if (mentions(term.atom, changing) || loads_one_of(term.atom, written)) return std::nullopt;
        result.loads |= holds_load(term.atom);
        if (range_of(term.atom, bounds_).within(-kMostValue, kMostValue)) continue;
        const Expr within = logical_and(binary(BinaryOp::ge, term.atom, int_imm(-kMostValue)),
                                        binary(BinaryOp::le, term.atom, int_imm(kMostValue)));
        result.in_limits = result.in_limits ? logical_and(result.in_limits, within) : within;
      }
    }
    return result;
  }

  static bool is_small(std::int64_t value, std::int64_t most) { return value >= -most && value <= most; }

  // Bounds the loop by `form` >= 0.
  void bound(CoreLoop& loop, const Linear& form, const std::set<const VarNode*>& inner, const Values& values) const {
    std::int64_t coefficient = 0;
    Linear rest{form.constant, {}};  // the largest value of the other terms
    for (const LinearTerm& term : form.terms) {
      const auto* var = std::get_if<VarRef>(&term.atom->node);
      if (var != nullptr && var->var == loop.var) {
        coefficient = term.coefficient;
      } else if (var != nullptr && inner.contains(var->var.get())) {
        const Interval range = bounds_.at(var->var.get());
        rest.constant += std::max(term.coefficient * range.min, term.coefficient * range.max);
      } else {
        rest.add(term.atom, term.coefficient);
      }
    }
    if (coefficient == 0) return;
    const bool begins = coefficient > 0;
    if (!begins && coefficient == -1) rest.constant += 1;  // rest // 1 + 1
    const Expr quotient = floor_div(to_expr(rest), std::abs(coefficient));
    const Expr value = simplify(begins ? int_imm(0) - quotient : coefficient == -1 ? quotient : quotient + 1, bounds_);
    if (!values.loads && !saves(loop, value, begins)) return;
    const std::int64_t all = begins ? 0 : loop.extent;
    const Expr here = values.in_limits ? select(values.in_limits, value, int_imm(all)) : value;
    Expr& limit = begins ? loop.first : loop.end;
    limit = limit ? binary(begins ? BinaryOp::max : BinaryOp::min, limit, here) : here;
  }

  bool saves(const CoreLoop& loop, const Expr& limit, bool begins) const {
    const std::int64_t quarter = loop.extent / 4;
    const Range range = range_of(limit, bounds_);
    return loop.extent >= kLongLoop && (begins ? range.max >= quarter : range.min <= loop.extent - quarter);
  }

  const Bounds& bounds_;
};

}  // namespace

CoreProgram trim_loops(CoreProgram program) {
  program.body = Trimmer(program.bounds).trimmed(program.body);
  return program;
}

}  // namespace dovetail::loops
