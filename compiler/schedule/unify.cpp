#include "compiler/schedule/unify.h"

#include <algorithm>

#include <fmt/format.h>

#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

bool commutes(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::mul || op == BinaryOp::min || op == BinaryOp::max;
}

// Whether the expression has no loads: its variables are immediates, if any.
bool loads_nothing(const Expr& expr) {
  bool loads = false;
  visit_exprs(expr, [&](const Expr& each) { loads |= std::holds_alternative<LoadExpr>(each->node); });
  return !loads;
}

bool are_alike(const Expr& pattern, const Expr& target) {
  if (std::holds_alternative<VarRef>(pattern->node)) return true;  // possibly an immediate
  if (std::holds_alternative<IntImm>(target->node) && loads_nothing(pattern)) return true;
  if (const auto* p = std::get_if<Select>(&pattern->node); p && loads_nothing(p->condition))
    return are_alike(p->if_true, target) || are_alike(p->if_false, target) ||
           std::holds_alternative<Select>(target->node);
  if (pattern->dtype != target->dtype || pattern->node.index() != target->node.index()) return false;
  if (const auto* p = std::get_if<Binary>(&pattern->node)) {
    const auto& t = std::get<Binary>(target->node);
    return p->op == t.op && ((are_alike(p->a, t.a) && are_alike(p->b, t.b)) ||
                             (commutes(p->op) && are_alike(p->a, t.b) && are_alike(p->b, t.a)));
  }
  if (const auto* p = std::get_if<Unary>(&pattern->node)) {
    const auto& t = std::get<Unary>(target->node);
    return p->op == t.op && are_alike(p->a, t.a);
  }
  if (const auto* p = std::get_if<Cast>(&pattern->node)) return are_alike(p->a, std::get<Cast>(target->node).a);
  if (const auto* p = std::get_if<Call>(&pattern->node)) return p->function == std::get<Call>(target->node).function;
  return true;
}

class Matcher {
 public:
  Matcher(const Intrinsic& intrinsic, const VarMap& bindings, const Bounds& bounds, unsigned exchanges)
      : intrinsic_(intrinsic), bindings_(bindings), bounds_(bounds), exchanges_(exchanges) {}

  // Empty on success, else the mismatch.
  std::string stores(const Stmt& pattern, const Stmt& target) {
    std::string why = values(pattern, target);
    // Most patterns do not match: indices are computed only for those that do.
    if (why.empty())
      for (Match::Access& found : match.accesses)
        for (std::size_t d = 0; d < found.outside.size(); ++d)
          if (!found.computed[d]) found.outside[d] = simplify(substitute(found.outside[d], bindings_), bounds_);
    return why;
  }

  Match match;

 private:
  std::string values(const Stmt& pattern, const Stmt& target) {
    const auto* p = pattern ? std::get_if<Store>(&pattern->node) : nullptr;
    const auto* t = target ? std::get_if<Store>(&target->node) : nullptr;
    if (!p || !t || p->targets.size() != t->targets.size())
      return "the bodies are not stores of the same number of values";
    for (std::size_t i = 0; i < p->targets.size(); ++i) {
      if (std::string why =
              access(p->targets[i].buffer, p->targets[i].indices, t->targets[i].buffer, t->targets[i].indices);
          !why.empty())
        return why;
      if (std::string why = exprs(p->targets[i].value, t->targets[i].value); !why.empty()) return why;
    }
    return {};
  }

  std::string access(const Buffer& parameter, const std::vector<Expr>& inside, const Buffer& buffer,
                     const std::vector<Expr>& outside) {
    if (parameter->dtype != buffer->dtype)
      return fmt::format("operand {} is {}, but buffer {} is {}", parameter->name, name(parameter->dtype), buffer->name,
                         name(buffer->dtype));
    std::vector<bool> computed(outside.size(), false);
    for (std::size_t d = 0; d < inside.size(); ++d) {
      if (loads_nothing(inside[d])) continue;
      if (parameter->shape != buffer->shape)
        return fmt::format("operand {} has shape {}, but buffer {} has {}", parameter->name,
                           dovetail::to_string(parameter->shape), buffer->name, dovetail::to_string(buffer->shape));
      if (std::string why = exprs(inside[d], outside[d]); !why.empty()) return why;
      computed[d] = true;
    }
    match.accesses.push_back({parameter.get(), inside, outside, buffer, std::move(computed)});
    return {};
  }

  std::string exprs(const Expr& pattern, const Expr& target) {
    if (const auto* reference = std::get_if<VarRef>(&pattern->node)) {
      for (const Var& immediate : intrinsic_.immediates) {
        if (immediate != reference->var) continue;
        const Expr value = simplify(substitute(target, bindings_), bounds_);
        if (!std::holds_alternative<IntImm>(value->node))
          return fmt::format("immediate {} is not a constant: {}", immediate->name, loops::to_string(target));
        const auto [it, fresh] = match.immediates.emplace(immediate.get(), value);
        if (!fresh && std::get<IntImm>(it->second->node).value != std::get<IntImm>(value->node).value)
          return fmt::format("immediate {} has two values", immediate->name);
        return {};
      }
    }
    const auto mismatch = [&] {
      return fmt::format("{} does not match {}", loops::to_string(target), loops::to_string(pattern));
    };
    if (gives_number(pattern, target)) return {};
    if (const auto* p = std::get_if<Select>(&pattern->node);
        p && !std::holds_alternative<Select>(target->node) && loads_nothing(p->condition))
      return chosen(*p, target) ? "" : mismatch();
    if (pattern->dtype != target->dtype || pattern->node.index() != target->node.index()) return mismatch();
    if (const auto* p = std::get_if<LoadExpr>(&pattern->node)) {
      const auto& t = std::get<LoadExpr>(target->node);
      return access(p->buffer, p->indices, t.buffer, t.indices);
    }
    if (const auto* p = std::get_if<Binary>(&pattern->node)) {
      const auto& t = std::get<Binary>(target->node);
      if (p->op != t.op) return mismatch();
      const bool exchanged = commutes(p->op) && ((exchanges_ >> commuting_++) & 1U) != 0;
      if (std::string why = exprs(p->a, exchanged ? t.b : t.a); !why.empty()) return why;
      return exprs(p->b, exchanged ? t.a : t.b);
    }
    if (const auto* p = std::get_if<Unary>(&pattern->node)) {
      const auto& t = std::get<Unary>(target->node);
      return p->op == t.op ? exprs(p->a, t.a) : mismatch();
    }
    if (const auto* p = std::get_if<Select>(&pattern->node)) {
      const auto& t = std::get<Select>(target->node);
      for (const auto& [a, b] :
           {std::pair(p->condition, t.condition), std::pair(p->if_true, t.if_true), std::pair(p->if_false, t.if_false)})
        if (std::string why = exprs(a, b); !why.empty()) return why;
      return {};
    }
    if (const auto* p = std::get_if<Cast>(&pattern->node)) return exprs(p->a, std::get<Cast>(target->node).a);
    if (const auto* p = std::get_if<Bitcast>(&pattern->node)) return exprs(p->a, std::get<Bitcast>(target->node).a);
    if (const auto* p = std::get_if<Call>(&pattern->node)) {
      const auto& t = std::get<Call>(target->node);
      if (p->function != t.function || p->arguments.size() != t.arguments.size()) return mismatch();
      for (std::size_t i = 0; i < p->arguments.size(); ++i)
        if (std::string why = exprs(p->arguments[i], t.arguments[i]); !why.empty()) return why;
      return {};
    }
    if (const auto* p = std::get_if<IntImm>(&pattern->node))
      return p->value == std::get<IntImm>(target->node).value ? "" : mismatch();
    if (const auto* p = std::get_if<FloatImm>(&pattern->node))
      return p->value == std::get<FloatImm>(target->node).value ? "" : mismatch();
    return mismatch();
  }

  // The value of an expression of immediates that are decided.
  std::optional<std::int64_t> value_of(const Expr& expr) const {
    VarMap decided;
    for (const auto& [immediate, value] : match.immediates) decided[immediate] = value;
    const Expr value = simplify(substitute(expr, decided), {});
    const auto* number = std::get_if<IntImm>(&value->node);
    return number ? std::optional(number->value) : std::nullopt;
  }

  // Whether an expression of one immediate, such as min(imm, 31), has the number `target` as its value. Sets the
  // immediate to the number or its negative.
  bool gives_number(const Expr& pattern, const Expr& target) {
    const auto* number = std::get_if<IntImm>(&target->node);
    if (number == nullptr || pattern->dtype != target->dtype || !loads_nothing(pattern)) return false;
    for (const Var& immediate : intrinsic_.immediates) {
      bool mentions = false;
      visit_exprs(pattern, [&](const Expr& each) {
        const auto* reference = std::get_if<VarRef>(&each->node);
        mentions |= reference != nullptr && reference->var == immediate;
      });
      if (!mentions) continue;
      if (match.immediates.contains(immediate.get())) return value_of(pattern) == number->value;
      for (const std::int64_t candidate : {number->value, -number->value}) {
        match.immediates[immediate.get()] = int_imm(candidate, immediate->dtype);
        if (value_of(pattern) == number->value) return true;
      }
      match.immediates.erase(immediate.get());
    }
    return false;
  }

  // Matches the side of a select that its condition, which depends on immediates alone, then chooses.
  bool chosen(const Select& pattern, const Expr& target) {
    for (const bool side : {true, false}) {
      const Match before = match;
      const unsigned commuting = commuting_;
      if (exprs(side ? pattern.if_true : pattern.if_false, target).empty() &&
          value_of(pattern.condition) == (side ? 1 : 0))
        return true;
      match = before;
      commuting_ = commuting;
    }
    return false;
  }

  const Intrinsic& intrinsic_;
  const VarMap& bindings_;
  const Bounds& bounds_;
  unsigned exchanges_;
  unsigned commuting_ = 0;  // number of such nodes seen so far
};

// The strides of an operand, derived from its accesses one by one. Functions return a mismatch as text; empty: it fits.
class OperandSteps {
 public:
  OperandSteps(const Parameter& parameter, const std::vector<const For*>& loops,
               const std::map<const VarNode*, int>& loop_of, const Bounds& bounds)
      : parameter_(parameter), loops_(loops), loop_of_(loop_of), bounds_(bounds), steps_(rank()) {}

  std::string add(const Match::Access& access) {
    const bool is_first = buffer_ == nullptr;
    if (!is_first && buffer_ != access.buffer)
      return fmt::format("operand {} would be both {} and {}", name(), buffer_->name, access.buffer->name);
    buffer_ = access.buffer;
    Parts parts{std::vector<Affine>(access.outside.size()), {}};
    if (std::string why = split_indices(access, parts); !why.empty()) return why;
    if (std::string why = take_steps(parts); !why.empty()) return why;
    if (!is_first) return take_distance(access, parts.outer);
    origin_ = std::move(parts.outer);
    return {};
  }

  std::optional<Operand> operand(const std::vector<const For*>& outside) const {
    if (!buffer_) return std::nullopt;
    Operand operand{buffer_, {}, {}};
    for (const Affine& form : origin_) {
      Expr base = int_imm(form.constant);
      for (const For* loop : outside)
        if (const auto it = form.coefficients.find(loop->var.get()); it != form.coefficients.end())
          base = ref(loop->var) * it->second + base;
      operand.base.push_back(base);
    }
    for (const auto& steps : steps_) operand.steps.push_back(steps ? *steps : Steps(buffer_->shape.size(), 0));
    return operand;
  }

 private:
  using Steps = std::vector<std::int64_t>;  // by buffer dimension
  // An access' indices in terms of the loops around the intrinsic, and the steps of the operand's axes.
  struct Parts {
    std::vector<Affine> outer;
    std::map<std::size_t, Steps> steps;  // by axis, for those that follow a loop here
  };

  std::size_t rank() const { return parameter_.buffer->shape.size(); }
  const std::string& name() const { return parameter_.buffer->name; }
  bool is_tensorized(const VarNode* var) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](const For* loop) { return loop->var.get() == var; });
  }

  std::string split_indices(const Match::Access& access, Parts& parts) {
    const std::size_t dimensions = access.outside.size();
    std::map<const VarNode*, std::size_t> axis_of_loop;
    for (std::size_t axis = 0; axis < rank(); ++axis)
      if (const auto* reference = std::get_if<VarRef>(&access.inside[axis]->node)) {
        const auto it = loop_of_.find(reference->var.get());
        if (it != loop_of_.end() && it->second >= 0)
          axis_of_loop[loops_[static_cast<std::size_t>(it->second)]->var.get()] = axis;
        if (!steps_[axis]) steps_[axis] = Steps(dimensions, 0);
      }
    for (const auto& [var, axis] : axis_of_loop) parts.steps[axis].assign(dimensions, 0);
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (access.computed[d]) {  // the operand is the whole buffer, of the parameter's shape
        steps_[d].emplace(dimensions, 0)[d] = 1;
        continue;
      }
      const auto form = affine(access.outside[d], bounds_);
      if (!form)
        return fmt::format("index {} of {} is not affine: {}", d, access.buffer->name,
                           loops::to_string(access.outside[d]));
      parts.outer[d].constant = form->constant;
      for (const auto& [var, coefficient] : form->coefficients) {
        if (!is_tensorized(var)) parts.outer[d].coefficients[var] = coefficient;
        else if (const auto it = axis_of_loop.find(var); it != axis_of_loop.end())
          parts.steps[it->second][d] = coefficient;
        else
          return fmt::format("loop {} moves the access of {}, but no axis of operand {} corresponds to it", var->name,
                             access.buffer->name, name());
      }
    }
    return {};
  }

  std::string take_steps(const Parts& parts) {
    const auto moves = [](const Steps& steps) {
      return std::any_of(steps.begin(), steps.end(), [](std::int64_t s) { return s != 0; });
    };
    for (const auto& [axis, steps] : parts.steps) {
      if (moves(*steps_[axis]) && *steps_[axis] != steps)
        return fmt::format("operand {} is accessed with two different strides", name());
      if (!moves(steps) && parameter_.buffer->shape[axis] > 1)
        return fmt::format("axis {} of operand {} does not move the access of {}", axis, name(), buffer_->name);
      steps_[axis] = steps;
    }
    return {};
  }

  // The distance to the origin belongs to the operand's constant indices: it must be a whole step along one such axis.
  std::string take_distance(const Match::Access& access, const std::vector<Affine>& outer) {
    std::optional<std::size_t> axis;
    std::int64_t count = 0;
    for (std::size_t a = 0; a < rank(); ++a)
      if (const auto* imm = std::get_if<IntImm>(&access.inside[a]->node); imm && imm->value != 0)
        axis = a, count = imm->value;
    Steps steps(outer.size(), 0);
    for (std::size_t d = 0; d < outer.size(); ++d) {
      const Affine& origin = origin_[d];
      const std::int64_t difference = outer[d].constant - origin.constant;
      if (outer[d].coefficients != origin.coefficients || (difference != 0 && (!axis || difference % count != 0)))
        return fmt::format("two accesses of operand {} do not differ by a constant step", name());
      if (axis) steps[d] = difference / count;
    }
    if (axis) steps_[*axis] = steps;
    return {};
  }

  const Parameter& parameter_;
  const std::vector<const For*>& loops_;
  const std::map<const VarNode*, int>& loop_of_;
  const Bounds& bounds_;
  Buffer buffer_;
  std::vector<std::optional<Steps>> steps_;  // by axis; nullopt: no access has a variable there yet
  std::vector<Affine> origin_;               // outer parts at operand index 0
};

}  // namespace

bool are_alike(const Stmt& pattern, const Stmt& target) {
  const auto* p = pattern ? std::get_if<Store>(&pattern->node) : nullptr;
  const auto* t = target ? std::get_if<Store>(&target->node) : nullptr;
  return p && t && std::ranges::equal(p->targets, t->targets, [](const StoreTarget& a, const StoreTarget& b) {
           return are_alike(a.value, b.value);
         });
}

int commuting_nodes(const Stmt& pattern) {
  const auto* assignment = pattern ? std::get_if<Store>(&pattern->node) : nullptr;
  int nodes = 0;
  if (assignment)
    for (const StoreTarget& target : assignment->targets)
      visit_exprs(target.value, [&](const Expr& expr) {
        const auto* n = std::get_if<Binary>(&expr->node);
        nodes += n && commutes(n->op);
      });
  return nodes;
}

std::string match_bodies(const Intrinsic& intrinsic, const Stmt& pattern, const Stmt& target, const VarMap& bindings,
                         const Bounds& bounds, unsigned exchanges, Match& match) {
  Matcher matcher(intrinsic, bindings, bounds, exchanges);
  std::string why = matcher.stores(pattern, target);
  match = std::move(matcher.match);
  return why;
}

std::optional<Operand> derive_operand(const Parameter& parameter, const Match& match,
                                      const std::vector<const For*>& loops, const std::vector<const For*>& outside,
                                      const std::map<const VarNode*, int>& loop_of, const Bounds& bounds,
                                      std::string& why) {
  // Accesses with constant operand indices of 0 first: they determine the origin, others the steps between constants.
  std::vector<const Match::Access*> order;
  for (const auto& access : match.accesses)
    if (access.parameter == parameter.buffer.get()) order.push_back(&access);
  const auto constant_part = [](const Match::Access* access) {
    std::int64_t sum = 0;
    for (const Expr& index : access->inside)
      if (const auto* imm = std::get_if<IntImm>(&index->node)) sum += imm->value;
    return sum;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return constant_part(a) < constant_part(b); });

  OperandSteps steps(parameter, loops, loop_of, bounds);
  for (const Match::Access* access : order) {
    why = steps.add(*access);
    if (!why.empty()) return std::nullopt;
  }
  auto operand = steps.operand(outside);
  if (!operand) why = fmt::format("operand {} is not used", parameter.buffer->name);
  return operand;
}

}  // namespace dovetail::schedule
