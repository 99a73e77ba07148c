#include "loops/core/peel.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "loops/core/instantiate.h"
#include "loops/range.h"
#include "loops/rewrite.h"

namespace dovetail::loops {
namespace {

bool is_comparison(const Expr& expr) {
  const auto* n = std::get_if<Binary>(&expr->node);
  return n != nullptr && n->op >= BinaryOp::eq && n->op <= BinaryOp::ge && is_integer(n->a->dtype);
}

bool mentions(const Expr& expr, const Var& var) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* n = std::get_if<VarRef>(&e->node)) found |= n->var == var;
  });
  return found;
}

bool loads(const Expr& expr) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) { found |= std::holds_alternative<LoadExpr>(e->node); });
  return found;
}

// The comparisons that decide the statements' conditions and depend on `var`, without duplicates; comparisons of loaded
// values are never decided.
class Conditions {
 public:
  Conditions(const Var& var, std::int64_t long_nest) : var_(var), long_nest_(long_nest) {}
  std::vector<Expr> found;

  void collect(const Core& core) {
    if (core) std::visit([&](const auto& n) { collect(n); }, core->node);
  }

 private:
  void collect(const CoreLoop& n) { collect(n.body); }
  void collect(const CoreIf& n) {
    if (statement_runs(core_sequence({n.then_body, n.else_body})) < long_nest_) from_condition(n.condition);
    collect(n.condition);
    collect(n.then_body);
    collect(n.else_body);
  }
  void collect(const CoreSequence& n) {
    for (const Core& inner : n.body) collect(inner);
  }
  void collect(const CoreStore& n) {
    for (const StoreTarget& target : n.targets) {
      for (const Expr& index : target.indices) collect(index);
      collect(target.value);
    }
  }
  void collect(const CoreForget&) {}
  void collect(const CoreBarrier&) {}
  void collect(const CoreAsyncCopy&) {}
  void collect(const CoreAsyncGroup&) {}
  void collect(const CoreCallGroup&) {}
  void collect(const CoreProxyFence&) {}
  void collect(const CoreBoxCopy&) {}
  void collect(const CoreSignal&) {}
  void collect(const CoreShuffle&) {}
  void collect(const CoreCall& n) {
    for (const IntrinsicOperand& operand : n.operands)
      for (const Expr& index : operand.indices) collect(index);
    for (const Expr& immediate : n.immediates) collect(immediate);
  }

  void collect(const Expr& expr) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<Select>(&e->node)) from_condition(n->condition);
      const auto* n = std::get_if<Binary>(&e->node);
      if (n != nullptr && (n->op == BinaryOp::min || n->op == BinaryOp::max) && e->dtype == DType::int64)
        add(binary(BinaryOp::le, n->a, n->b));
    });
  }
  void from_condition(const Expr& condition) {
    visit_exprs(condition, [&](const Expr& e) {
      if (is_comparison(e)) add(e);
    });
  }
  void add(const Expr& comparison) {
    if (!mentions(comparison, var_) || loads(comparison)) return;
    const auto same = [&](const Expr& e) { return structurally_equal(e, comparison); };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(comparison);
  }

  const Var& var_;
  std::int64_t long_nest_;
};

// The iterations begin <= var < end.
struct Part {
  std::int64_t begin, end;
  std::int64_t length() const { return end - begin; }
};

bool holds_parallel(const Core& core) {
  if (!core) return false;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node))
    return loop->kind == ForKind::parallel || holds_parallel(loop->body);
  if (const auto* condition = std::get_if<CoreIf>(&core->node))
    return holds_parallel(condition->then_body) || holds_parallel(condition->else_body);
  const auto* sequence = std::get_if<CoreSequence>(&core->node);
  return sequence != nullptr && std::ranges::any_of(sequence->body, holds_parallel);
}

class Peeler {
 public:
  Peeler(const CoreProgram& program, const PeelOptions& options) : bounds_(program.bounds), options_(options) {}

  Core peel(const Core& core) {
    return core ? std::visit([&](const auto& n) { return peel(n, core); }, core->node) : nullptr;
  }

 private:
  Core peel(const CoreStore&, const Core& core) { return core; }
  Core peel(const CoreForget&, const Core& core) { return core; }
  Core peel(const CoreBarrier&, const Core& core) { return core; }
  Core peel(const CoreAsyncCopy&, const Core& core) { return core; }
  Core peel(const CoreAsyncGroup&, const Core& core) { return core; }
  Core peel(const CoreCallGroup&, const Core& core) { return core; }
  Core peel(const CoreProxyFence&, const Core& core) { return core; }
  Core peel(const CoreBoxCopy&, const Core& core) { return core; }
  Core peel(const CoreSignal&, const Core& core) { return core; }
  Core peel(const CoreShuffle&, const Core& core) { return core; }
  Core peel(const CoreCall&, const Core& core) { return core; }
  Core peel(const CoreIf& n, const Core&) { return core_if(n.condition, peel(n.then_body), peel(n.else_body)); }
  Core peel(const CoreSequence& n, const Core&) {
    std::vector<Core> body;
    for (const Core& inner : n.body) body.push_back(peel(inner));
    return core_sequence(std::move(body));
  }

  Core peel(const CoreLoop& n, const Core& core) {
    if (depth_ == 0) statements_ = unrolled_statement_count(core);
    ++depth_;
    Core result = peel_loop(n, core);
    --depth_;
    return result;
  }

  Core peel_loop(const CoreLoop& n, const Core& core) {
    const Part whole{0, n.extent};
    if (const auto parts = split(n, whole, n.body)) {
      std::vector<Core> loops;
      for (const Part& part : *parts) loops.push_back(loop_over(n, part));
      // Threads would wait for each other between the resulting parallel loops.
      const bool one = std::count(loops.begin(), loops.end(), nullptr) + 1 == static_cast<std::ptrdiff_t>(loops.size());
      if (n.kind != ForKind::parallel || one)
        if (const auto peeled = affordable(loops, core, [&](const Core& loop, std::size_t) { return peel(loop); }))
          return core_sequence(*peeled);
    }
    CoreLoop loop = n;
    const std::int64_t copies = n.kind == ForKind::unrolled ? n.extent : 1;
    copies_ *= copies;
    loop.body = n.kind == ForKind::parallel ? versions(n, whole, n.body) : peel(n.body);
    copies_ /= copies;
    return loop.body ? make_core(std::move(loop)) : nullptr;
  }

  Core loop_over(const CoreLoop& n, const Part& part) {
    if (part.length() == 1) return body_over(n, part, n.body);
    CoreLoop loop = n;
    loop.var = make_var(n.var->name, n.var->dtype);
    loop.extent = part.length();
    bounds_[loop.var.get()] = {0, loop.extent - 1};
    loop.body =
        instantiate(n.body, {{n.var.get(), part.begin == 0 ? ref(loop.var) : ref(loop.var) + part.begin}}, bounds_);
    return loop.body ? make_core(std::move(loop)) : nullptr;
  }

  // The body in terms of the loop's own variable, or of its value if there is only one.
  Core body_over(const CoreLoop& n, const Part& part, const Core& body) {
    const Interval saved = std::exchange(bounds_[n.var.get()], {part.begin, part.end - 1});
    Core result = instantiate(
        body, {{n.var.get(), part.length() == 1 ? int_imm(part.begin, n.var->dtype) : ref(n.var)}}, bounds_);
    bounds_[n.var.get()] = saved;
    return result;
  }

  // The body of a loop that is not split, for the iterations `range`: one version for each part.
  Core versions(const CoreLoop& n, const Part& range, const Core& body) {
    const Interval saved = std::exchange(bounds_[n.var.get()], {range.begin, range.end - 1});
    std::optional<std::vector<Core>> bodies;
    const auto parts = split(n, range, body);
    if (parts) {
      std::vector<Core> split_bodies;
      for (const Part& part : *parts) split_bodies.push_back(body_over(n, part, body));
      bodies = affordable(split_bodies, body,
                          [&](const Core& part_body, std::size_t i) { return versions(n, (*parts)[i], part_body); });
    }
    Core result;
    if (bodies) {
      // Tested from the last part to the first, so that one comparison distinguishes each from the preceding ones.
      for (std::size_t i = 0; i < parts->size(); ++i) {
        const Expr reached =
            i == 0 ? nullptr : binary(BinaryOp::ge, ref(n.var), int_imm((*parts)[i].begin, n.var->dtype));
        result = core_if(reached, (*bodies)[i], result);
      }
    } else {
      result = peel(body);
    }
    bounds_[n.var.get()] = saved;
    return result;
  }

  // Returns `parts` in place of `core`, after peeling each with `peel_part(part, its number)`; returns nullopt, and
  // counts nothing, if the nest becomes too large. The size may exceed the limit temporarily: a tail shrinks only when
  // its inner loops are split.
  template <typename PeelPart>
  std::optional<std::vector<Core>> affordable(std::vector<Core> parts, const Core& core, const PeelPart& peel_part) {
    const std::int64_t before = statements_, limit = std::max(before, options_.max_statements);
    statements_ -= copies_ * unrolled_statement_count(core);
    for (const Core& part : parts) statements_ += copies_ * unrolled_statement_count(part);
    if (statements_ <= limit || before <= options_.max_statements) {
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = peel_part(parts[i], i);
      if (statements_ <= limit) return parts;
    }
    statements_ = before;
    return std::nullopt;
  }

  bool decided(const Expr& condition, const Var& var, std::int64_t begin, std::int64_t end) {
    const Interval saved = std::exchange(bounds_[var.get()], {begin, end - 1});
    const bool result = range_of(condition, bounds_).single();
    bounds_[var.get()] = saved;
    return result;
  }

  // A condition that is decided for the iterations < `low` and those >= `high`.
  struct Decided {
    std::int64_t low, high;
    bool over(const Part& part) const { return part.end <= low || part.begin >= high || part.length() == 1; }
  };
  Decided decided_ends(const Expr& condition, const Var& var, const Part& range) {
    const auto last_true = [](std::int64_t from, std::int64_t to,
                              const auto& holds) {  // a monotone property: it holds up to a point
      while (from < to) {
        const std::int64_t middle = from + (to - from + 1) / 2;
        if (holds(middle)) from = middle;
        else to = middle - 1;
      }
      return from;
    };
    const std::int64_t low = range.begin + last_true(0, range.length(), [&](std::int64_t n) {
                               return decided(condition, var, range.begin, range.begin + n);
                             });
    const std::int64_t high = range.end - last_true(0, range.length(), [&](std::int64_t n) {
                                return decided(condition, var, range.end - n, range.end);
                              });
    return {low, high};
  }

  // Head, interior and tail of `range`, omitting empty ones; nullopt if no part decides a condition.
  std::optional<std::vector<Part>> split(const CoreLoop& n, const Part& range, const Core& body) {
    if (n.kind == ForKind::thread || n.kind == ForKind::vthread || n.kind == ForKind::pipelined || range.length() < 2)
      return std::nullopt;
    // A buffer private to a parallel loop would be shared by several loops.
    if (holds_parallel(body)) return std::nullopt;
    Conditions conditions(n.var, options_.long_nest);
    conditions.collect(body);
    std::vector<Decided> ends;
    std::set<std::int64_t> points{range.begin, range.end};
    for (const Expr& condition : conditions.found) {
      ends.push_back(decided_ends(condition, n.var, range));
      const bool in_one_piece = n.kind == ForKind::vectorized || n.kind == ForKind::unrolled;
      if (in_one_piece && ends.back().high - ends.back().low > 1) return std::nullopt;
      points.insert(ends.back().low);
      points.insert(ends.back().high);
    }
    if (ends.empty()) return std::nullopt;
    // The interior is the part in which most conditions are decided, weighted by iterations.
    std::optional<Part> interior;
    std::int64_t most = 0;
    for (auto begin = points.begin(); begin != points.end(); ++begin) {
      for (auto end = std::next(begin); end != points.end(); ++end) {
        const Part part{*begin, *end};
        if (part.length() == range.length()) continue;
        const auto count = std::count_if(ends.begin(), ends.end(), [&](const Decided& e) { return e.over(part); });
        if (count * part.length() <= most) continue;
        most = count * part.length();
        interior = part;
      }
    }
    if (!interior) return std::nullopt;
    // If conditions remain, a part must save enough to justify its code size.
    const bool all_decided =
        std::all_of(ends.begin(), ends.end(), [](const Decided& e) { return e.high - e.low <= 1; });
    if (!all_decided && 2 * interior->length() < range.length()) return std::nullopt;
    std::vector<Part> parts{{range.begin, interior->begin}, *interior, {interior->end, range.end}};
    std::erase_if(parts, [](const Part& part) { return part.length() == 0; });
    return parts;
  }

  Bounds bounds_;
  const PeelOptions& options_;
  int depth_ = 0;                // number of enclosing loops
  std::int64_t statements_ = 0;  // statements of the outermost loop
  std::int64_t copies_ = 1;      // copies that unrolling the enclosing loops will make
};

}  // namespace

CoreProgram peel_tails(const CoreProgram& program, const PeelOptions& options) {
  CoreProgram result = program;
  result.body = Peeler(program, options).peel(program.body);
  result.bounds = loop_bounds(result.body);
  return result;
}

}  // namespace dovetail::loops
