#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/overloaded.h"
#include "loops/interpreter/codegen.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"
#include "loops/sharing.h"

namespace dovetail::loops {
namespace {

// A sum of loop variables for which an affine register saves work.
std::optional<Affine> sum_of_variables(const Expr& expr) {
  Affine result;
  if (const auto* n = std::get_if<VarRef>(&expr->node)) {
    result.coefficients[n->var.get()] = 1;
    return result;
  }
  if (expr->dtype != DType::int64 || std::holds_alternative<IntImm>(expr->node)) return std::nullopt;
  const Linear form = linear_form(expr);
  result.constant = form.constant;
  for (const LinearTerm& term : form.terms) {
    const auto* n = std::get_if<VarRef>(&term.atom->node);
    if (n == nullptr) return std::nullopt;
    result.coefficients[n->var.get()] = term.coefficient;
  }
  return result;
}

}  // namespace

bool Codegen::uniform(const Expr& expr) const {
  if (!in_lanes()) return true;
  bool result = true;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* n = std::get_if<VarRef>(&e->node)) result &= !space_->has(n->var.get());
  });
  return result;
}

Codegen::Value Codegen::emit_op(Kernel kernel, bool wide, Value a, Value b, Value c, std::int32_t mask) {
  DOVETAIL_CHECK(kernel != nullptr, "the operation must be defined on the type");
  Instr instr;
  instr.kernel = kernel;
  instr.wide = wide ? 1 : 0;
  instr.a = a.reg;
  instr.b = b.reg;
  instr.c = c.reg;
  instr.mask = wide ? mask : -1;
  instr.d = new_register();
  emit(instr);
  return {instr.d, wide};
}

Codegen::Value Codegen::in_all_lanes(Value v, DType dtype) {
  if (v.wide || v.constant) return v;
  return emit_op(broadcast_kernel(register_type(dtype)), true, v);
}

Codegen::Value Codegen::joined(Value a, Value b, Kernel kernel, DType operand_type, std::int32_t mask) {
  const bool wide = a.wide || b.wide || mask >= 0;
  return wide ? emit_op(kernel, true, in_all_lanes(a, operand_type), in_all_lanes(b, operand_type), {}, mask)
              : emit_op(kernel, false, a, b);
}

void Codegen::share_in(const std::vector<StoreTarget>& targets) {
  std::vector<Expr> expressions;
  for (const StoreTarget& target : targets) {
    expressions.insert(expressions.end(), target.indices.begin(), target.indices.end());
    expressions.push_back(target.value);
  }
  shared_.clear();
  computed_by_both_ = {};
  if (worth_sharing(expressions)) shared_.emplace_back();
}

// Values that both sides of a select need are computed before it, once.
void Codegen::value_both(const Select& n, std::int32_t mask) {
  if (shared_.empty()) return;
  for (const Expr& expr : computed_by_both_.of(n)) value(expr, mask);
}

Codegen::Value Codegen::value(const Expr& expr, std::int32_t mask) {
  if (shared_.empty() || !may_be_shared(expr)) return value_here(expr, mask);
  for (const auto& level : shared_)
    if (const auto known = level.find(expr); known != level.end()) return known->second;
  const Value result = value_here(expr, mask);
  shared_.back().emplace(expr, result);
  return result;
}

Codegen::Value Codegen::value_here(const Expr& expr, std::int32_t mask) {
  if (const auto sum = sum_of_variables(expr)) return affine_value(*sum, expr->dtype);
  return std::visit(Overloaded{
                        [&](const IntImm&) { return constant_value(expr); },
                        [&](const FloatImm&) { return constant_value(expr); },
                        [&](const VarRef&) { return Value{}; },  // a sum of one variable, handled above
                        [&](const Unary& n) { return unary_value(n, mask); },
                        [&](const Binary& n) { return binary_value(n, mask); },
                        [&](const Cast& n) { return cast_value(value(n.a, mask), n.a->dtype, expr->dtype); },
                        [&](const Bitcast& n) { return bitcast_value(n.a, expr->dtype, mask); },
                        [&](const Select& n) { return select_value(n, mask); },
                        [&](const LoadExpr& n) { return load_value(n, mask); },
                        [&](const Call& n) { return call_value(n, mask); },
                    },
                    expr->node);
}

Codegen::Value Codegen::constant_value(const Expr& expr) {
  ConstantRegister constant{-1, register_type(expr->dtype)};
  std::int64_t key = 0;
  if (const auto* n = std::get_if<FloatImm>(&expr->node)) {
    constant.floating = n->value;
    key = std::bit_cast<std::int64_t>(n->value);
  } else {
    key = constant.integer = std::get<IntImm>(expr->node).value;
  }
  const auto [entry, is_new] = constants_.try_emplace({constant.dtype, key}, out_.registers);
  if (is_new) {
    constant.reg = out_.registers++;
    out_.constants.push_back(constant);
  }
  return {entry->second, false, true};
}

Codegen::Value Codegen::unary_value(const Unary& n, std::int32_t mask) {
  const Value a = value(n.a, mask);
  return emit_op(unary_kernel(n.op, register_type(n.a->dtype)), a.wide, a);
}

Codegen::Value Codegen::binary_value(const Binary& n, std::int32_t mask) {
  const Value a = value(n.a, mask);
  const Value b = value(n.b, mask);
  const bool can_fail = may_divide_by_zero(n);
  const Value result = joined(a, b, binary_kernel(n.op, register_type(n.a->dtype)), n.a->dtype, can_fail ? mask : -1);
  if (can_fail) out_.code.back().site = site(nullptr, -1, 0);
  return result;
}

Codegen::Value Codegen::cast_value(Value a, DType from, DType to) {
  if (register_type(from) == register_type(to)) return a;
  return emit_op(cast_kernel(register_type(from), register_type(to)), a.wide, a);
}

// Bits are those of the declared types, so a wide floating-point value is rounded to its type first.
Codegen::Value Codegen::bitcast_value(const Expr& a, DType to, std::int32_t mask) {
  Value v = value(a, mask);
  const auto narrow = [&](DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; };
  if (register_type(a->dtype) != a->dtype) v = emit_op(cast_kernel(register_type(a->dtype), a->dtype), v.wide, v);
  if (narrow(a->dtype) || narrow(to)) v = emit_op(bitcast_kernel(a->dtype, to), v.wide, v);
  if (register_type(to) != to) v = emit_op(cast_kernel(to, register_type(to)), v.wide, v);
  return v;
}

Codegen::Value Codegen::call_value(const Call& n, std::int32_t mask) {
  switch (n.function) {
    case Function::requantize: {
      const Value acc = value(n.arguments[0], mask);
      Value scale = value(n.arguments[1], mask);
      if (register_type(DType::float32) != DType::float32)
        scale = emit_op(cast_kernel(DType::float64, DType::float32), scale.wide, scale);
      const Value zero_point = value(n.arguments[2], mask);
      const bool wide = acc.wide || scale.wide || zero_point.wide;
      if (!wide) return emit_op(requantize_kernel(), false, acc, scale, zero_point);
      const auto spread = [&](Value v) { return in_all_lanes_32(v); };
      return emit_op(requantize_kernel(), true, spread(acc), spread(scale), spread(zero_point));
    }
  }
  DOVETAIL_CHECK(false, "unknown function");
  return {};
}

Codegen::Value Codegen::in_all_lanes_32(Value v) {
  return v.wide || v.constant ? v : emit_op(broadcast_kernel(DType::int32), true, v);
}

Codegen::Value Codegen::select_value(const Select& n, std::int32_t mask) {
  return mask < 0 && uniform(n.condition) ? jump_select(n) : lane_select(n, mask);
}

// A condition common to all lanes: only the chosen side runs.
Codegen::Value Codegen::jump_select(const Select& n) {
  const Facts saved = facts_, saved_unmasked = unmasked_facts_;
  const bool wide = !uniform(n.if_true) || !uniform(n.if_false);
  const std::int32_t result = new_alias();
  const auto side = [&](const Expr& expr) {
    if (!shared_.empty()) shared_.emplace_back();
    Value v = value(expr, -1);
    if (!shared_.empty()) shared_.pop_back();
    if (wide) v = in_all_lanes(v, expr->dtype);
    Instr move;
    move.kernel = move_kernel();
    move.d = result;
    move.a = v.reg;
    emit(move);
  };
  Instr skip;
  skip.kernel = jump_if_false_kernel();
  skip.a = value(n.condition, -1).reg;
  value_both(n, -1);
  const std::size_t to_false = emit(skip);
  facts_.assume(n.condition), unmasked_facts_.assume(n.condition);
  side(n.if_true);
  Instr over;
  over.kernel = jump_kernel();
  const std::size_t to_end = emit(over);
  patch_jump(to_false);
  facts_ = saved, unmasked_facts_ = saved_unmasked;
  facts_.assume_not(n.condition), unmasked_facts_.assume_not(n.condition);
  side(n.if_false);
  patch_jump(to_end);
  facts_ = saved, unmasked_facts_ = saved_unmasked;
  return {result, wide};
}

// A condition per lane: both sides run, and instructions that can fail are masked to the lanes of their side.
Codegen::Value Codegen::lane_select(const Select& n, std::int32_t mask) {
  const Facts saved = facts_;
  const Value condition = in_all_lanes(value(n.condition, mask), DType::boolean);
  value_both(n, mask);
  const auto side = [&](const Expr& expr, bool negated) {
    bool can_fail = false;
    visit_exprs(expr, [&](const Expr& e) {
      const auto* division = std::get_if<Binary>(&e->node);
      can_fail |= std::holds_alternative<LoadExpr>(e->node) || (division != nullptr && may_divide_by_zero(*division));
    });
    const std::int32_t side_mask = can_fail ? mask_of(condition, mask, negated) : mask;
    negated ? facts_.assume_not(n.condition) : facts_.assume(n.condition);
    if (!shared_.empty()) shared_.emplace_back();
    const Value v = in_all_lanes(value(expr, side_mask), expr->dtype);
    if (!shared_.empty()) shared_.pop_back();
    facts_ = saved;
    return v;
  };
  const Value if_true = side(n.if_true, false);
  const Value if_false = side(n.if_false, true);
  return emit_op(select_kernel(register_type(n.if_true->dtype)), true, condition, if_true, if_false);
}

Codegen::Value Codegen::load_value(const LoadExpr& n, std::int32_t mask) {
  const Place from = place(n.buffer, n.indices, mask);
  check_defined(from, n.buffer);
  const DType storage = out_.buffers[static_cast<std::size_t>(from.buffer)].storage;
  // Memory that the statement itself writes must be copied before it changes.
  const Kernel alias = from.addressing == Addressing::unit && from.mask < 0 && stored_.count(n.buffer.get()) == 0
                           ? alias_kernel(storage)
                           : nullptr;
  Instr load = at(from, alias != nullptr ? alias : load_kernel(storage, from.addressing));
  load.d = alias != nullptr ? new_alias() : new_register();
  emit(load);
  return {load.d, from.wide};
}

}  // namespace dovetail::loops
