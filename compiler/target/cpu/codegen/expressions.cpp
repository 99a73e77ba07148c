// Scalar and lane-wise expressions, with the meaning of docs/reference/loop-programs.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/check.h"
#include "compiler/target/cpu/codegen/emitter.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "loops/rewrite.h"
#include "loops/sharing.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

bool is_float(DType dtype) { return is_floating(dtype); }
bool is_signed(DType dtype) { return is_signed_integer(dtype); }

bool is_zero(const Expr& expr) {
  const auto* n = std::get_if<FloatImm>(&expr->node);
  return n != nullptr && n->value == 0 && !std::signbit(n->value);
}

// An upper bound of a value's magnitude; for a float, known if it is a literal or clamped between two.
double magnitude_of(const Expr& expr, const Bounds& bounds) {
  if (!is_float(expr->dtype)) {
    const auto range = bound(expr, bounds);
    return range ? std::max(std::abs(static_cast<double>(range->min)), std::abs(static_cast<double>(range->max)))
                 : std::numeric_limits<double>::infinity();
  }
  const auto literal = [](const Expr& e) {
    const auto* n = std::get_if<FloatImm>(&e->node);
    return n != nullptr && !std::isnan(n->value) ? n->value : std::numeric_limits<double>::infinity();
  };
  const auto* high = std::get_if<Binary>(&expr->node);
  const auto* low = high != nullptr && high->op == BinaryOp::min ? std::get_if<Binary>(&high->a->node) : nullptr;
  if (low == nullptr || low->op != BinaryOp::max) return std::abs(literal(expr));
  return std::max(std::abs(literal(low->b)), std::abs(literal(high->b)));
}

}  // namespace

Value Emitter::emit(const Expr& expr) {
  const auto here = [&] { return std::visit([&](const auto& n) { return emit_node(n, expr->dtype); }, expr->node); };
  if (shared_.empty() || !may_be_shared(expr)) return here();
  for (const auto& level : shared_)
    if (const auto known = level.find(expr); known != level.end()) return known->second;
  const Value value = here();
  shared_.back().emplace(expr, value);
  return value;
}

Value Emitter::emit_in_branch(const Expr& expr) {
  if (shared_.empty()) return emit(expr);
  shared_.emplace_back();
  const Value value = emit(expr);
  shared_.pop_back();
  return value;
}

Value Emitter::emit_product_sum(const StoreTarget& target) {
  const auto* sum = std::get_if<Binary>(&target.value->node);
  const DType dtype = target.value->dtype;
  if (sum == nullptr || sum->op != BinaryOp::add || !is_float(dtype) || is_half(dtype)) return emit(target.value);
  const Expr self = load(target.buffer, target.indices);
  const bool self_first = structurally_equal(sum->a, self);
  const auto* product = std::get_if<Binary>(&(self_first ? sum->b : sum->a)->node);
  if ((!self_first && !structurally_equal(sum->b, self)) || product == nullptr || product->op != BinaryOp::mul)
    return emit(target.value);
  const Value before = emit(self), a = emit(product->a), b = emit(product->b);
  const bool varying_product = a.varying || b.varying, varying = varying_product || before.varying;
  const Contraction contracted(builder_);
  const Value term{builder_.CreateFMul(unify(a, varying_product).llvm, unify(b, varying_product).llvm),
                   varying_product};
  // Vector lanes come from a schedule, which fixes the order of additions.
  const Contraction summed(builder_, /*in_any_order=*/lane_var_ == nullptr);
  return {builder_.CreateFAdd(unify(before, varying).llvm, unify(term, varying).llvm), varying};
}

// For pairs of 16-bit words, the instruction (vpdpwssd) adds both products; the second one is zero.
std::optional<Value> Emitter::emit_word_sum(const StoreTarget& target) {
  const auto* sum = std::get_if<Binary>(&target.value->node);
  const auto* product = sum != nullptr && sum->op == BinaryOp::add ? std::get_if<Binary>(&sum->b->node) : nullptr;
  if (lane_var_ == nullptr || product == nullptr || product->op != BinaryOp::mul || sum->b->dtype != DType::int32 ||
      !cpu_.adds_words(lanes_))
    return std::nullopt;
  const auto is_word = [&](const Expr& factor) {
    const auto range = bound(factor, core_.bounds);
    return range && range->min >= std::numeric_limits<std::int16_t>::min() &&
           range->max <= std::numeric_limits<std::int16_t>::max();
  };
  if (!is_word(product->a) || !is_word(product->b)) return std::nullopt;
  llvm::Value *before = splat(emit(sum->a)), *a = splat(emit(product->a)), *b = splat(emit(product->b));
  llvm::Value* words = builder_.CreateAnd(b, number(b->getType(), 0xffff));
  const auto instruction =
      lanes_ == 16 ? llvm::Intrinsic::x86_avx512_vpdpwssd_512 : llvm::Intrinsic::x86_avx512_vpdpwssd_256;
  return Value{builder_.CreateIntrinsic(instruction, {}, {before, a, words}), true};
}

Value Emitter::emit_node(const IntImm& n, DType dtype) {
  return {llvm::ConstantInt::get(type_of(dtype), static_cast<std::uint64_t>(n.value), true), false};
}

Value Emitter::emit_node(const FloatImm& n, DType dtype) {
  return {llvm::ConstantFP::get(type_of(dtype), n.value), false};
}

Value Emitter::emit_node(const VarRef& n, DType dtype) {
  if (n.var.get() == lane_var_) {
    std::vector<llvm::Constant*> lanes;
    for (unsigned i = 0; i < lanes_; ++i) lanes.push_back(llvm::ConstantInt::get(type_of(dtype), i));
    return {llvm::ConstantVector::get(lanes), true};
  }
  const auto it = frame_.vars.find(n.var.get());
  DOVETAIL_CHECK(it != frame_.vars.end(), "variable " + n.var->name + " must belong to an enclosing loop");
  llvm::Value* value = it->second;
  return {value->getType() == type_of(dtype) ? value : builder_.CreateIntCast(value, type_of(dtype), is_signed(dtype)),
          false};
}

Value Emitter::emit_node(const Unary& n, DType) {
  const Value a = emit(n.a);
  const DType type = n.a->dtype;
  llvm::Value* v = a.llvm;
  const auto done = [&](llvm::Value* value) { return Value{value, a.varying}; };
  switch (n.op) {
    case UnaryOp::logical_not:
    case UnaryOp::bit_not: return done(builder_.CreateNot(v));
    case UnaryOp::is_nan:
      return done(is_float(type) ? builder_.CreateFCmpUNO(v, v) : number(builder_.CreateICmpEQ(v, v)->getType(), 0));
    case UnaryOp::is_inf:
      if (!is_float(type)) return done(number(builder_.CreateICmpEQ(v, v)->getType(), 0));
      return done(builder_.CreateFCmpOEQ(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v),
                                         number(v->getType(), std::numeric_limits<double>::infinity())));
    default: break;
  }
  if (is_float(type)) return done(round_to(type, emit_unary_float(n.op, v)));
  switch (n.op) {
    case UnaryOp::neg: return done(builder_.CreateNeg(v));
    case UnaryOp::abs:
      return done(is_signed(type) ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, builder_.getFalse()) : v);
    case UnaryOp::sign: {
      llvm::Value* positive = builder_.CreateZExt(is_signed(type) ? builder_.CreateICmpSGT(v, number(v->getType(), 0))
                                                                  : builder_.CreateICmpNE(v, number(v->getType(), 0)),
                                                  v->getType());
      if (!is_signed(type)) return done(positive);
      return done(builder_.CreateSub(
          positive, builder_.CreateZExt(builder_.CreateICmpSLT(v, number(v->getType(), 0)), v->getType())));
    }
    default: return done(v);  // rounding functions of integers
  }
}

llvm::Value* Emitter::emit_min_max(bool is_min, llvm::Value* a, llvm::Value* b, DType dtype) {
  if (is_float(dtype) && !cpu_.rounds_floats()) {
    llvm::Value* first = is_min ? builder_.CreateFCmpULE(a, b) : builder_.CreateFCmpUGE(a, b);
    llvm::Value* either = builder_.CreateSelect(first, a, b);
    return builder_.CreateSelect(builder_.CreateFCmpUNO(b, b), b, either);
  }
  if (is_float(dtype)) {
    auto* call = builder_.CreateBinaryIntrinsic(is_min ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, a, b);
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(call))
      instruction->setHasNoSignedZeros(true);  // the sign of zero does not matter
    return call;
  }
  const llvm::Intrinsic::ID id = is_signed(dtype) ? (is_min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                                  : (is_min ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
  return builder_.CreateBinaryIntrinsic(id, a, b);
}

llvm::Value* Emitter::emit_compare(BinaryOp op, llvm::Value* a, llvm::Value* b, DType dtype) {
  using P = llvm::CmpInst::Predicate;
  const bool sign = is_signed(dtype);
  if (is_float(dtype)) {
    switch (op) {
      case BinaryOp::eq: return builder_.CreateFCmp(P::FCMP_OEQ, a, b);
      case BinaryOp::ne: return builder_.CreateFCmp(P::FCMP_UNE, a, b);
      case BinaryOp::lt: return builder_.CreateFCmp(P::FCMP_OLT, a, b);
      case BinaryOp::le: return builder_.CreateFCmp(P::FCMP_OLE, a, b);
      case BinaryOp::gt: return builder_.CreateFCmp(P::FCMP_OGT, a, b);
      default: return builder_.CreateFCmp(P::FCMP_OGE, a, b);
    }
  }
  switch (op) {
    case BinaryOp::eq: return builder_.CreateICmp(P::ICMP_EQ, a, b);
    case BinaryOp::ne: return builder_.CreateICmp(P::ICMP_NE, a, b);
    case BinaryOp::lt: return builder_.CreateICmp(sign ? P::ICMP_SLT : P::ICMP_ULT, a, b);
    case BinaryOp::le: return builder_.CreateICmp(sign ? P::ICMP_SLE : P::ICMP_ULE, a, b);
    case BinaryOp::gt: return builder_.CreateICmp(sign ? P::ICMP_SGT : P::ICMP_UGT, a, b);
    default: return builder_.CreateICmp(sign ? P::ICMP_SGE : P::ICMP_UGE, a, b);
  }
}

Value Emitter::emit_integer_division(BinaryOp op, Value a, Value b, DType dtype, bool divisor_is_safe) {
  const bool varying = a.varying || b.varying;
  llvm::Type* type = unify(a, varying).llvm->getType();
  llvm::Value *x = unify(a, varying).llvm, *y = unify(b, varying).llvm;
  const bool sign = is_signed(dtype);
  if (!divisor_is_safe) {
    llvm::Value* zero = builder_.CreateICmpEQ(y, number(type, 0));
    fail_where({zero, varying}, "integer division by zero", {y, varying});
    y = builder_.CreateSelect(zero, number(type, 1), y);
  }
  // The smallest integer divided by -1 wraps; the processor would trap.
  llvm::Value* minus_one = nullptr;
  if (sign && !divisor_is_safe) {
    minus_one = builder_.CreateICmpEQ(y, number(type, -1));
    y = builder_.CreateSelect(minus_one, number(type, 1), y);
  }
  const bool remainder = op == BinaryOp::mod || op == BinaryOp::floor_mod;
  const bool floors = sign && (op == BinaryOp::floor_div || op == BinaryOp::floor_mod);
  llvm::Value* result;
  if (!floors) {
    result = sign ? (remainder ? builder_.CreateSRem(x, y) : builder_.CreateSDiv(x, y))
                  : (remainder ? builder_.CreateURem(x, y) : builder_.CreateUDiv(x, y));
  } else {
    llvm::Value* rest = builder_.CreateSRem(x, y);
    llvm::Value* differ = builder_.CreateICmpSLT(builder_.CreateXor(rest, y), number(type, 0));
    llvm::Value* down = builder_.CreateAnd(differ, builder_.CreateICmpNE(rest, number(type, 0)));
    result = remainder ? builder_.CreateSelect(down, builder_.CreateAdd(rest, y), rest)
                       : builder_.CreateSub(builder_.CreateSDiv(x, y), builder_.CreateZExt(down, type));
  }
  if (minus_one) result = builder_.CreateSelect(minus_one, remainder ? number(type, 0) : builder_.CreateNeg(x), result);
  return {result, varying};
}

// Modulo 2^bits; with a negative exponent, the truncated reciprocal: 1, -1 or 0.
Value Emitter::emit_integer_power(Value a, Value b, DType dtype) {
  const bool varying = a.varying || b.varying;
  llvm::Value *x = unify(a, varying).llvm, *y = unify(b, varying).llvm;
  llvm::Value* zero = number(x->getType(), 0);
  if (is_signed(dtype)) {
    llvm::Value* broken = builder_.CreateAnd(builder_.CreateICmpEQ(x, zero), builder_.CreateICmpSLT(y, zero));
    fail_where({broken, varying}, "zero to a negative power", {y, varying});
  }
  return {builder_.CreateCall(integer_power(x->getType(), is_signed(dtype)), {x, y}), varying};
}

// Amounts outside the type's bit width give 0, or the sign for >> of a negative number.
Value Emitter::emit_shift(BinaryOp op, Value a, Value b, DType dtype) {
  const bool varying = a.varying || b.varying;
  llvm::Value *x = unify(a, varying).llvm, *amount = unify(b, varying).llvm;
  llvm::Type* type = x->getType();
  const double bits = type->getScalarSizeInBits();
  llvm::Value* outside = builder_.CreateICmpUGE(amount, number(type, bits));
  llvm::Value* safe = builder_.CreateSelect(outside, number(type, 0), amount);
  if (op == BinaryOp::shl)
    return {builder_.CreateSelect(outside, number(type, 0), builder_.CreateShl(x, safe)), varying};
  if (!is_signed(dtype))
    return {builder_.CreateSelect(outside, number(type, 0), builder_.CreateLShr(x, safe)), varying};
  return {builder_.CreateAShr(x, builder_.CreateSelect(outside, number(type, bits - 1), amount)), varying};
}

Value Emitter::emit_node(const Binary& n, DType) {
  const DType dtype = n.a->dtype;
  const Value a = emit(n.a), b = emit(n.b);
  const bool varying = a.varying || b.varying;
  const auto done = [&](llvm::Value* value) { return Value{value, varying}; };
  // A result computed in binary32 may need rounding to a 16-bit float.
  const auto rounded = [&](llvm::Value* value) { return Value{round_to(dtype, value), varying}; };

  if (!is_float(dtype) && dtype != DType::boolean) {
    switch (n.op) {
      case BinaryOp::div:
      case BinaryOp::mod:
      case BinaryOp::floor_div:
      case BinaryOp::floor_mod: {
        const auto* divisor = std::get_if<IntImm>(&n.b->node);
        return emit_integer_division(n.op, a, b, dtype,
                                     divisor != nullptr && divisor->value != 0 && divisor->value != -1);
      }
      case BinaryOp::shl:
      case BinaryOp::shr: return emit_shift(n.op, a, b, dtype);
      case BinaryOp::pow: return emit_integer_power(a, b, dtype);
      default: break;
    }
  }
  llvm::Value *x = unify(a, varying).llvm, *y = unify(b, varying).llvm;
  switch (n.op) {
    case BinaryOp::add: return rounded(is_float(dtype) ? builder_.CreateFAdd(x, y) : builder_.CreateAdd(x, y));
    case BinaryOp::sub: return rounded(is_float(dtype) ? builder_.CreateFSub(x, y) : builder_.CreateSub(x, y));
    case BinaryOp::mul: return rounded(is_float(dtype) ? builder_.CreateFMul(x, y) : builder_.CreateMul(x, y));
    case BinaryOp::div: return rounded(builder_.CreateFDiv(x, y));
    case BinaryOp::floor_div: return rounded(emit_rounding(llvm::Intrinsic::floor, builder_.CreateFDiv(x, y)));
    case BinaryOp::mod:
    case BinaryOp::floor_mod: {
      llvm::Type* wide = llvm::Type::getDoubleTy(context_);
      llvm::Type* vector = varying ? llvm::FixedVectorType::get(wide, lanes_) : wide;
      llvm::Value* exact =
          call_library(kFmod, std::nullopt, {builder_.CreateFPCast(x, vector), builder_.CreateFPCast(y, vector)});
      llvm::Value* rest = builder_.CreateFPCast(exact, x->getType());
      if (n.op == BinaryOp::mod) return done(rest);
      llvm::Value* differ = builder_.CreateXor(builder_.CreateFCmpOLT(rest, number(x->getType(), 0)),
                                               builder_.CreateFCmpOLT(y, number(x->getType(), 0)));
      llvm::Value* down = builder_.CreateAnd(differ, builder_.CreateFCmpONE(rest, number(x->getType(), 0)));
      return rounded(builder_.CreateSelect(down, builder_.CreateFAdd(rest, y), rest));
    }
    case BinaryOp::min:
    case BinaryOp::max:
      // max(x, 0): with the constant as second operand, the processor's maximum instruction keeps a NaN of x.
      if (is_float(dtype) && is_zero(n.a)) std::swap(x, y);
      return done(emit_min_max(n.op == BinaryOp::min, x, y, dtype));
    case BinaryOp::pow: {
      llvm::Type* wide = llvm::Type::getDoubleTy(context_);
      llvm::Type* vector = varying ? llvm::FixedVectorType::get(wide, lanes_) : wide;
      if (const auto* exponent = std::get_if<FloatImm>(&n.b->node)) {
        if (exponent->value == 2) return rounded(builder_.CreateFMul(x, x));
        if (llvm::Value* roots = emit_root_power(x, exponent->value)) return rounded(roots);
      }
      return rounded(builder_.CreateFPCast(
          call_library(kPow, std::nullopt, {builder_.CreateFPCast(x, vector), builder_.CreateFPCast(y, vector)}),
          x->getType()));
    }
    case BinaryOp::shl:
    case BinaryOp::shr: break;
    case BinaryOp::bit_and:
    case BinaryOp::logical_and: return done(builder_.CreateAnd(x, y));
    case BinaryOp::bit_or:
    case BinaryOp::logical_or: return done(builder_.CreateOr(x, y));
    case BinaryOp::bit_xor: return done(builder_.CreateXor(x, y));
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge: return done(emit_compare(n.op, x, y, dtype));
  }
  DOVETAIL_CHECK(false, fmt::format("{} must be defined for {}", name(n.op), name(dtype)));
  return {};
}

Value Emitter::emit_node(const Cast& n, DType dtype) {
  const Value a = emit(n.a);
  const DType from = n.a->dtype;
  llvm::Type* type = type_of(dtype);
  if (a.varying) type = llvm::FixedVectorType::get(type, lanes_);
  llvm::Value* v = a.llvm;
  const auto done = [&](llvm::Value* value) { return Value{value, a.varying}; };
  if (dtype == DType::boolean)
    return done(is_float(from) ? builder_.CreateFCmpUNE(v, number(v->getType(), 0))
                               : builder_.CreateICmpNE(v, number(v->getType(), 0)));
  if (is_float(from) && is_half(dtype)) return done(round_to(dtype, from == DType::float64 ? round_to_odd(v) : v));
  if (is_half(dtype)) return done(half_from_integer(dtype, v, is_signed(from)));
  if (is_float(from) && is_float(dtype)) return done(builder_.CreateFPCast(v, type));
  if (is_float(from)) return done(saturated(v, type, is_signed(dtype)));
  if (is_float(dtype)) return done(is_signed(from) ? builder_.CreateSIToFP(v, type) : builder_.CreateUIToFP(v, type));
  return done(builder_.CreateIntCast(v, type, is_signed(from)));
}

// LLVM's fptosi.sat would process a vector element by element.
llvm::Value* Emitter::saturated(llvm::Value* value, llvm::Type* type, bool is_signed) {
  const unsigned bits = type->getScalarSizeInBits(), magnitude = is_signed ? bits - 1 : bits;
  const llvm::APInt least = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
  const llvm::APInt most = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  const auto at = [&](double bound) { return number(value->getType(), bound); };
  const auto converted = [&](llvm::Value* inside) {
    return is_signed ? builder_.CreateFPToSI(inside, type) : builder_.CreateFPToUI(inside, type);
  };
  const double low = is_signed ? -std::ldexp(1.0, static_cast<int>(magnitude)) : 0;
  const double beyond = std::ldexp(1.0, static_cast<int>(magnitude));
  if (magnitude <= static_cast<unsigned>(value->getType()->getScalarType()->getFPMantissaWidth())) {
    llvm::Value* inside = builder_.CreateSelect(builder_.CreateFCmpOGT(value, at(low)), value, at(low));
    inside = builder_.CreateSelect(builder_.CreateFCmpOLT(inside, at(beyond - 1)), inside, at(beyond - 1));
    if (is_signed) inside = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), at(0), inside);
    return converted(inside);
  }
  // The largest integer is not representable in this type.
  llvm::Value* above = builder_.CreateFCmpOGE(value, at(beyond));
  llvm::Value* fits =
      builder_.CreateAnd(builder_.CreateFCmpOGE(value, at(low)), builder_.CreateFCmpOLT(value, at(beyond)));
  llvm::Value* integer = converted(builder_.CreateSelect(fits, value, at(0)));
  if (is_signed)
    integer =
        builder_.CreateSelect(builder_.CreateFCmpOLT(value, at(low)), llvm::ConstantInt::get(type, least), integer);
  return builder_.CreateSelect(above, llvm::ConstantInt::get(type, most), integer);
}

Value Emitter::emit_node(const Bitcast& n, DType dtype) {
  const Value a = emit(n.a);
  llvm::Type* type = memory_type_of(dtype);
  if (a.varying) type = llvm::FixedVectorType::get(type, lanes_);
  return {value_of(dtype, builder_.CreateBitCast(element_of(n.a->dtype, a.llvm), type)), a.varying};
}

bool Emitter::pure(const Expr& expr) const {
  int nodes = 0;
  bool result = true;
  visit_exprs(expr, [&](const Expr& e) {
    ++nodes;
    if (std::holds_alternative<LoadExpr>(e->node) || std::holds_alternative<Call>(e->node)) result = false;
    if (const auto* n = std::get_if<Binary>(&e->node))
      result &= n->op != BinaryOp::div && n->op != BinaryOp::mod && n->op != BinaryOp::floor_div &&
                n->op != BinaryOp::floor_mod && n->op != BinaryOp::pow;
    if (const auto* n = std::get_if<Unary>(&e->node)) result &= n->op <= UnaryOp::sqrt;
  });
  return result && nodes < 16;
}

Value Emitter::emit_node(const Select& n, DType) {
  const Value condition = emit(n.condition);
  if (!shared_.empty())
    for (const Expr& expr : computed_by_both_.of(n)) emit(expr);
  if (condition.varying || (pure(n.if_true) && pure(n.if_false))) {
    llvm::Value* saved = mask_;
    if (condition.varying) mask_ = active(condition.llvm);
    const Value a = emit_in_branch(n.if_true);
    mask_ = saved;
    if (condition.varying) mask_ = active(builder_.CreateNot(condition.llvm));
    const Value b = emit_in_branch(n.if_false);
    mask_ = saved;
    const bool varying = condition.varying || a.varying || b.varying;
    return {builder_.CreateSelect(condition.llvm, unify(a, varying).llvm, unify(b, varying).llvm), varying};
  }
  llvm::Function* function = frame_.function;
  auto* then_block = llvm::BasicBlock::Create(context_, "select.then", function);
  auto* else_block = llvm::BasicBlock::Create(context_, "select.else", function);
  auto* join = llvm::BasicBlock::Create(context_, "select.join", function);
  builder_.CreateCondBr(condition.llvm, then_block, else_block);
  ++frame_.branches;
  builder_.SetInsertPoint(then_block);
  Value a = emit_in_branch(n.if_true);
  llvm::BasicBlock* then_end = builder_.GetInsertBlock();
  builder_.SetInsertPoint(else_block);
  Value b = emit_in_branch(n.if_false);
  --frame_.branches;
  const bool varying = a.varying || b.varying;
  b = unify(b, varying);
  llvm::BasicBlock* else_end = builder_.GetInsertBlock();
  builder_.CreateBr(join);
  builder_.SetInsertPoint(then_end);
  a = unify(a, varying);
  builder_.CreateBr(join);
  builder_.SetInsertPoint(join);
  llvm::PHINode* phi = builder_.CreatePHI(a.llvm->getType(), 2);
  phi->addIncoming(a.llvm, then_end);
  phi->addIncoming(b.llvm, else_end);
  return {phi, varying};
}

Value Emitter::emit_node(const LoadExpr& n, DType) { return load_from(n.buffer, place_of(n.buffer, n.indices)); }

Value Emitter::emit_node(const Call& n, DType) {
  std::vector<Value> arguments;
  bool varying = false;
  for (const Expr& argument : n.arguments) {
    arguments.push_back(emit(argument));
    varying |= arguments.back().varying;
  }
  switch (n.function) {
    case Function::requantize: {
      const auto* sum = std::get_if<LoadExpr>(&n.arguments[0]->node);
      const auto known = sum == nullptr ? sum_bounds_.end() : sum_bounds_.find(sum->buffer->name);
      const double acc = known != sum_bounds_.end() ? known->second : magnitude_of(n.arguments[0], core_.bounds);
      const Magnitudes most{acc, magnitude_of(n.arguments[1], core_.bounds),
                            magnitude_of(n.arguments[2], core_.bounds)};
      return {emit_requantize(unify(arguments[0], varying).llvm, unify(arguments[1], varying).llvm,
                              unify(arguments[2], varying).llvm, most),
              varying};
    }
  }
  return {};
}

}  // namespace dovetail::cpu
