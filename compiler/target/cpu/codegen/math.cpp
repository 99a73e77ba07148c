// Mathematical functions, uniform or per lane. exp, log, tanh and erf of float32 are inline polynomials, within 4 units
// in the last place (tests/differential/compiler/cpu/random_programs.cpp); all others, and binary64, call the runtime's
// table.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <llvm/IR/Intrinsics.h>

#include "base/check.h"
#include "compiler/target/cpu/codegen/emitter.h"
#include "compiler/target/cpu/codegen/kernel.h"

namespace dovetail::cpu {

using loops::UnaryOp;

llvm::Value* Emitter::emit_unary_float(UnaryOp op, llvm::Value* a) {
  llvm::Type* type = a->getType();
  const bool single = type->getScalarType()->isFloatTy();
  switch (op) {
    case UnaryOp::neg: return builder_.CreateFNeg(a);
    case UnaryOp::abs: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    case UnaryOp::sign: {
      llvm::Value* zero = number(type, 0);
      llvm::Value* one = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, number(type, 1), a);
      return builder_.CreateSelect(builder_.CreateFCmpUEQ(a, zero), a, one);  // zeros and NaN are returned unchanged
    }
    case UnaryOp::floor: return emit_rounding(llvm::Intrinsic::floor, a);
    case UnaryOp::ceil: return emit_rounding(llvm::Intrinsic::ceil, a);
    case UnaryOp::trunc: return emit_rounding(llvm::Intrinsic::trunc, a);
    case UnaryOp::round_even: return emit_rounding(llvm::Intrinsic::roundeven, a);
    case UnaryOp::sqrt: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case UnaryOp::rsqrt:
      return builder_.CreateFDiv(number(type, 1), builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a));
    default: break;
  }
  if (single) {
    const Contraction contracted(builder_);
    switch (op) {
      case UnaryOp::exp: return emit_exp(a);
      case UnaryOp::log: return emit_log(a);
      case UnaryOp::tanh: return emit_tanh(a);
      case UnaryOp::erf: return emit_erf(a);
      default: break;
    }
  }
  llvm::Type* wide = llvm::Type::getDoubleTy(context_);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
  return builder_.CreateFPCast(call_library(kUnary, op, {builder_.CreateFPCast(a, wide)}), type);
}

// Numbers from 2^(digits - 1) on are integers; so are NaN and infinity for these functions.
llvm::Value* Emitter::emit_rounding(llvm::Intrinsic::ID rounding, llvm::Value* a) {
  if (cpu_.rounds_floats()) return builder_.CreateUnaryIntrinsic(rounding, a);
  llvm::Type* type = a->getType();
  const bool single = type->getScalarType()->isFloatTy();
  llvm::Value* magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  llvm::Value* whole = number(type, single ? 0x1p23 : 0x1p52);
  llvm::Value* has_fraction = builder_.CreateFCmpOLT(magnitude, whole);
  const auto with_sign = [&](llvm::Value* value) {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, value, a);
  };
  llvm::Value* result = builder_.CreateFSub(builder_.CreateFAdd(magnitude, whole), whole);  // ties to even
  if (rounding != llvm::Intrinsic::roundeven) {
    llvm::Value* above = builder_.CreateFCmpOGT(result, magnitude);
    result = builder_.CreateFSub(result, builder_.CreateSelect(above, number(type, 1), number(type, 0)));
  }
  result = with_sign(result);
  if (rounding == llvm::Intrinsic::floor || rounding == llvm::Intrinsic::ceil) {
    const bool down = rounding == llvm::Intrinsic::floor;
    llvm::Value* inside = down ? builder_.CreateFCmpOGT(result, a) : builder_.CreateFCmpOLT(result, a);
    llvm::Value* step = builder_.CreateSelect(inside, number(type, down ? -1 : 1), number(type, 0));
    result = with_sign(builder_.CreateFAdd(result, step));
  }
  return builder_.CreateSelect(has_fraction, result, a);
}

// A runtime's table has the functions of bundles; exported kernels call them by name.
llvm::Value* Emitter::library_function(unsigned field, std::optional<UnaryOp> entry, llvm::FunctionType* type) {
  if (cpu_.is_exported) {
    const std::string name = entry ? std::string(loops::name(*entry)) : field == kPow ? "pow" : "fmod";
    return module_.getOrInsertFunction(name, type).getCallee();
  }
  llvm::Type* pointer = llvm::PointerType::get(context_, 0);
  llvm::Value* function = service(field, pointer);
  if (!entry) return function;
  return load_unchanging(pointer, builder_.CreateConstGEP1_32(pointer, function, static_cast<unsigned>(*entry)));
}

llvm::Value* Emitter::call_library(unsigned field, std::optional<UnaryOp> entry,
                                   llvm::ArrayRef<llvm::Value*> operands) {
  llvm::Type* wide = llvm::Type::getDoubleTy(context_);
  auto* signature = llvm::FunctionType::get(wide, std::vector<llvm::Type*>(operands.size(), wide), false);
  llvm::Value* function = library_function(field, entry, signature);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType());
  if (!vector) return builder_.CreateCall(signature, function, operands);
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<llvm::Value*> scalars;
    for (llvm::Value* operand : operands) scalars.push_back(builder_.CreateExtractElement(operand, lane));
    result = builder_.CreateInsertElement(result, builder_.CreateCall(signature, function, scalars), lane);
  }
  return result;
}

llvm::Value* Emitter::emit_polynomial(llvm::Value* x, std::initializer_list<double> coefficients) {
  llvm::Value* sum = nullptr;
  for (const double coefficient : coefficients) {
    llvm::Value* term = number(x->getType(), coefficient);
    sum = sum ? builder_.CreateFAdd(builder_.CreateFMul(sum, x), term) : term;
  }
  return sum;
}

// Compare and select: LLVM's minnum may become a call of fmin. NaN is kept.
llvm::Value* Emitter::emit_float_clamp(llvm::Value* x, double low, double high) {
  llvm::Value *least = number(x->getType(), low), *most = number(x->getType(), high);
  x = builder_.CreateSelect(builder_.CreateFCmpOLT(x, least), least, x);
  return builder_.CreateSelect(builder_.CreateFCmpOGT(x, most), most, x);
}

llvm::Value* Emitter::emit_root_power(llvm::Value* a, double exponent) {
  const bool single = a->getType()->getScalarType()->isFloatTy();
  if (exponent != 0.5 && !(single && (exponent == 0.25 || exponent == 0.75))) return nullptr;
  const auto root_of = [&](llvm::Value* x) { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); };
  // A power of -0 is 0 and a power of -inf is inf; the roots would be -0 and NaN.
  llvm::Value* root = root_of(builder_.CreateFAdd(a, number(a->getType(), 0)));
  llvm::Value* power = exponent == 0.5    ? root
                       : exponent == 0.25 ? root_of(root)
                                          : builder_.CreateFMul(root, root_of(root));
  llvm::Value* low = number(a->getType(), -std::numeric_limits<double>::infinity());
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(a, low), builder_.CreateFNeg(low), power);
}

// exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln 2 / 2; the error of the degree-7 Taylor polynomial is 5e-9. 2^n
// is applied as two factors, so that results below the normal range are correct.
llvm::Value* Emitter::emit_exp(llvm::Value* a) {
  llvm::Type* type = a->getType();
  llvm::Type* bits = builder_.getInt32Ty();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    bits = llvm::FixedVectorType::get(bits, vector->getNumElements());
  llvm::Value* x = emit_float_clamp(a, -104, 89);
  llvm::Value* n = emit_rounding(llvm::Intrinsic::roundeven, builder_.CreateFMul(x, number(type, 1.4426950408889634)));
  llvm::Value* r = builder_.CreateFSub(x, builder_.CreateFMul(n, number(type, 0.693359375)));
  r = builder_.CreateFSub(r, builder_.CreateFMul(n, number(type, -2.12194440e-4)));
  llvm::Value* p = emit_polynomial(r, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1});
  llvm::Value* exponent = builder_.CreateFPToSI(n, bits);
  llvm::Value* half = builder_.CreateAShr(exponent, number(bits, 1));
  const auto power = [&](llvm::Value* e) {
    return builder_.CreateBitCast(builder_.CreateShl(builder_.CreateAdd(e, number(bits, 127)), number(bits, 23)), type);
  };
  p = builder_.CreateFMul(builder_.CreateFMul(p, power(half)), power(builder_.CreateSub(exponent, half)));
  return builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), a, p);
}

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.1716.
llvm::Value* Emitter::emit_log(llvm::Value* a) {
  llvm::Type* type = a->getType();
  llvm::Type* bits = builder_.getInt32Ty();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    bits = llvm::FixedVectorType::get(bits, vector->getNumElements());
  llvm::Value* tiny = builder_.CreateFCmpOLT(a, number(type, 1.17549435e-38));
  llvm::Value* x = builder_.CreateSelect(tiny, builder_.CreateFMul(a, number(type, 8388608)), a);
  llvm::Value* pattern = builder_.CreateSub(builder_.CreateBitCast(x, bits), number(bits, 0x3f3504f3));  // sqrt(1/2)
  llvm::Value* e = builder_.CreateAShr(pattern, number(bits, 23));
  llvm::Value* m = builder_.CreateBitCast(
      builder_.CreateAdd(builder_.CreateAnd(pattern, number(bits, 0x007fffff)), number(bits, 0x3f3504f3)), type);
  llvm::Value* exponent = builder_.CreateFSub(builder_.CreateSIToFP(e, type),
                                              builder_.CreateSelect(tiny, number(type, 23), number(type, 0)));
  llvm::Value* f = builder_.CreateFSub(m, number(type, 1));
  llvm::Value* s = builder_.CreateFDiv(f, builder_.CreateFAdd(m, number(type, 1)));
  llvm::Value* s2 = builder_.CreateFMul(s, s);
  // 2 atanh(s) = f - s (f - 2 s^2 (1/3 + s^2/5 + ...)): f is exact, the rest is small.
  llvm::Value* series = builder_.CreateFMul(s2, emit_polynomial(s2, {2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3}));
  llvm::Value* log_m = builder_.CreateFSub(f, builder_.CreateFMul(s, builder_.CreateFSub(f, series)));
  llvm::Value* low = builder_.CreateFAdd(log_m, builder_.CreateFMul(exponent, number(type, -2.12194440e-4)));
  llvm::Value* result = builder_.CreateFAdd(builder_.CreateFMul(exponent, number(type, 0.693359375)), low);
  const double infinity = std::numeric_limits<double>::infinity();
  result = builder_.CreateSelect(builder_.CreateFCmpOEQ(a, number(type, infinity)), a, result);
  result = builder_.CreateSelect(builder_.CreateFCmpOEQ(a, number(type, 0)), number(type, -infinity), result);
  return builder_.CreateSelect(builder_.CreateFCmpULT(a, number(type, 0)), number(type, std::nan("")), result);
}

// Odd series near 0, where the quotient would cancel; else (1 - t) / (1 + t) with t = exp(-2 |x|).
llvm::Value* Emitter::emit_tanh(llvm::Value* a) {
  llvm::Type* type = a->getType();
  llvm::Value* x = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  llvm::Value* t = emit_exp(builder_.CreateFMul(x, number(type, -2)));
  llvm::Value* large =
      builder_.CreateFDiv(builder_.CreateFSub(number(type, 1), t), builder_.CreateFAdd(number(type, 1), t));
  llvm::Value* x2 = builder_.CreateFMul(a, a);
  llvm::Value* series =
      emit_polynomial(x2, {21844.0 / 6081075, -1382.0 / 155925, 62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 0});
  llvm::Value* small = builder_.CreateFAdd(a, builder_.CreateFMul(a, series));
  llvm::Value* result = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large, a);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(x, number(type, 0.4)), small, result);
}

// Taylor series below 1; above, Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26 (absolute
// error 1.5e-7).
llvm::Value* Emitter::emit_erf(llvm::Value* a) {
  llvm::Type* type = a->getType();
  llvm::Value* x = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  llvm::Value* x2 = builder_.CreateFMul(a, a);
  constexpr double k = 1.1283791670955126;  // 2 / sqrt(pi)
  llvm::Value* series = emit_polynomial(x2, {k / 76204800, -k / 6894720, k / 685440, -k / 75600, k / 9360, -k / 1320,
                                             k / 216, -k / 42, k / 10, -k / 3, k});
  llvm::Value* small = builder_.CreateFMul(a, series);
  llvm::Value* t = builder_.CreateFDiv(
      number(type, 1), builder_.CreateFAdd(number(type, 1), builder_.CreateFMul(x, number(type, 0.3275911))));
  llvm::Value* tail =
      builder_.CreateFMul(t, emit_polynomial(t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592}));
  llvm::Value* large = builder_.CreateFSub(
      number(type, 1), builder_.CreateFMul(tail, emit_exp(builder_.CreateFNeg(builder_.CreateFMul(x, x)))));
  large = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large, a);
  llvm::Value* result = builder_.CreateSelect(builder_.CreateFCmpOLT(x, number(type, 1)), small, large);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), a, result);
}

// By squaring, with as many rounds as the largest exponent has bits.
llvm::Function* Emitter::integer_power(llvm::Type* type, bool is_signed) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const std::string name = "power." + std::string(is_signed ? "i" : "u") + std::to_string(type->getScalarSizeInBits()) +
                           "." + std::to_string(vector ? vector->getNumElements() : 1);
  if (llvm::Function* known = module_.getFunction(name)) return known;
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false),
                                          llvm::Function::InternalLinkage, name, module_);
  function->setDoesNotThrow();
  set_processor(function);
  const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  auto* entry = llvm::BasicBlock::Create(context_, "entry", function);
  auto* test = llvm::BasicBlock::Create(context_, "test", function);
  auto* square = llvm::BasicBlock::Create(context_, "square", function);
  auto* done = llvm::BasicBlock::Create(context_, "done", function);
  llvm::Value *base = function->getArg(0), *exponent = function->getArg(1);
  llvm::Value *zero = number(type, 0), *one = number(type, 1);
  const auto is_odd = [&](llvm::Value* value) { return builder_.CreateICmpNE(builder_.CreateAnd(value, one), zero); };

  builder_.SetInsertPoint(entry);
  llvm::Value* negative = is_signed ? builder_.CreateICmpSLT(exponent, zero) : nullptr;
  llvm::Value* first = is_signed ? builder_.CreateSelect(negative, zero, exponent) : exponent;
  builder_.CreateBr(test);

  builder_.SetInsertPoint(test);
  auto* result = builder_.CreatePHI(type, 2);
  auto* factor = builder_.CreatePHI(type, 2);
  auto* left = builder_.CreatePHI(type, 2);
  llvm::Value* any = left;
  if (vector) any = builder_.CreateOrReduce(left);
  builder_.CreateCondBr(builder_.CreateICmpNE(any, number(any->getType(), 0)), square, done);

  builder_.SetInsertPoint(square);
  llvm::Value* next = builder_.CreateSelect(is_odd(left), builder_.CreateMul(result, factor), result);
  llvm::Value* squared = builder_.CreateMul(factor, factor);
  llvm::Value* fewer = builder_.CreateLShr(left, one);
  builder_.CreateBr(test);
  result->addIncoming(one, entry), result->addIncoming(next, square);
  factor->addIncoming(base, entry), factor->addIncoming(squared, square);
  left->addIncoming(first, entry), left->addIncoming(fewer, square);

  builder_.SetInsertPoint(done);
  llvm::Value* power = result;
  if (is_signed) {
    llvm::Value* minus_one = number(type, -1);
    llvm::Value* of_minus_one = builder_.CreateSelect(is_odd(exponent), minus_one, one);
    llvm::Value* reciprocal =
        builder_.CreateSelect(builder_.CreateICmpEQ(base, one), one,
                              builder_.CreateSelect(builder_.CreateICmpEQ(base, minus_one), of_minus_one, zero));
    power = builder_.CreateSelect(negative, reciprocal, power);
  }
  builder_.CreateRet(power);
  return function;
}

namespace {

std::optional<double> constant_of(llvm::Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (number == nullptr || !number->getValueAPF().isFinite()) return std::nullopt;
  return number->getValueAPF().convertToFloat();
}

// s if the scale is 2^-s, and the accumulator plus half of the shifted-out range fits in int32.
std::optional<int> shift_of(double scale, double most_acc) {
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5) return std::nullopt;
  const int shift = 1 - exponent;
  return shift >= 1 && shift <= 30 && most_acc + std::ldexp(1.0, shift - 1) < 0x1p31 ? std::optional(shift)
                                                                                     : std::nullopt;
}

}  // namespace

// The two parts of a scale: products of the accumulator with `coarse` are even integers of at most 24 bits times a
// power of two, exact in binary32, and products with `fine` stay below kFloatProduct. nullopt: there are no such parts.
std::optional<Emitter::ScaleParts> Emitter::parts_of(double scale, double most_acc) {
  if (!(most_acc >= 1 && most_acc <= static_cast<double>(kFloatAccumulator) / 4)) return std::nullopt;
  int exponent = 0, acc_bits = 0;
  std::frexp(scale, &exponent);
  std::frexp(most_acc, &acc_bits);
  const double unit = std::max(2.0, std::ldexp(1.0, exponent - (24 - acc_bits)));
  const double coarse = std::nearbyint(scale / unit) * unit, fine = scale - coarse;
  const bool exact =
      most_acc * std::abs(coarse) < 0x1p31 && most_acc * std::abs(fine) < static_cast<double>(kFloatProduct);
  return exact ? std::optional(ScaleParts{coarse, fine}) : std::nullopt;
}

// clamp_int32(round_half_even(acc * s) + zero_point), the product exact and rounded once, by the cheapest method that
// the magnitudes allow (kernel.h; proven by Preparation::bound_accumulator). Binary64 holds the product of |acc| < 2^29
// and a 24-bit scale exactly; a fused multiply-add rounds that of any acc once. A scale with the exponent of infinity
// is treated as a number of at least 2^128: every accumulator except 0 saturates, as with 2^128.
llvm::Value* Emitter::emit_requantize(llvm::Value* acc, llvm::Value* scale, llvm::Value* zero_point,
                                      const Magnitudes& most) {
  llvm::Type* narrow = acc->getType();
  const double product = most.acc * most.scale;
  const bool sum_fits = product + most.zero_point < 0x1p31 - 1;
  // Without binary64, integers are faster.
  if (cpu_.floats != FloatUnit::both ||
      (most.acc >= static_cast<double>(kSmallAccumulator) && !(cpu_.fma() && sum_fits)))
    return builder_.CreateCall(exact_requantize(narrow, scale->getType()), {acc, scale, zero_point});
  if (cpu_.fma() && most.acc <= static_cast<double>(kFloatAccumulator) && product < static_cast<double>(kFloatProduct))
    return round_by_adding(acc, scale, zero_point, scale->getType());
  if (const auto known = constant_of(scale); known && sum_fits) {
    if (const auto shift = shift_of(*known, most.acc)) return round_by_shifting(acc, *shift, zero_point);
    if (const auto parts = parts_of(*known, most.acc); parts && cpu_.fma())
      return round_in_parts(acc, scale->getType(), *parts, zero_point);
  }
  llvm::Type* wide = builder_.getDoubleTy();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(narrow))
    wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
  if (sum_fits) return round_by_adding(acc, scale, zero_point, wide);
  llvm::Value* bits = builder_.CreateBitCast(scale, narrow);
  llvm::Value* huge =
      builder_.CreateICmpEQ(builder_.CreateAnd(bits, number(narrow, 0x7f800000)), number(narrow, 0x7f800000));
  llvm::Value* finite = builder_.CreateFPExt(
      builder_.CreateBitCast(builder_.CreateSelect(huge, builder_.CreateAnd(bits, number(narrow, -2147483648.0)), bits),
                             scale->getType()),
      wide);
  llvm::Value* factor = builder_.CreateSelect(
      huge, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, number(wide, std::ldexp(1.0, 128)), finite),
      finite);
  llvm::Value* rounded =
      emit_rounding(llvm::Intrinsic::roundeven, builder_.CreateFMul(builder_.CreateSIToFP(acc, wide), factor));
  llvm::Value* shifted = builder_.CreateFAdd(rounded, builder_.CreateSIToFP(zero_point, wide));
  return builder_.CreateFPToSI(emit_float_clamp(shifted, -2147483648.0, 2147483647.0), narrow);
}

// Adds 1.5 times the power of two above which the type has no fractions: the low bits of the sum are then the product
// rounded to the nearest integer, ties to even. The sum is rounded only once: acc and scale are exact factors of one
// multiply-add, or without FMA, their product is exact in binary64.
llvm::Value* Emitter::round_by_adding(llvm::Value* acc, llvm::Value* scale, llvm::Value* zero_point, llvm::Type* wide) {
  llvm::Type* narrow = acc->getType();
  const bool is_double = wide->getScalarType()->isDoubleTy();
  llvm::Value* large = number(wide, is_double ? 0x1.8p52 : 0x1.8p23);
  llvm::Value *a = builder_.CreateSIToFP(acc, wide), *s = is_double ? builder_.CreateFPExt(scale, wide) : scale;
  llvm::Value* sum = cpu_.fma() ? builder_.CreateIntrinsic(llvm::Intrinsic::fma, {wide}, {a, s, large})
                                : builder_.CreateFAdd(builder_.CreateFMul(a, s), large);
  llvm::Type* bits = is_double ? builder_.getInt64Ty() : builder_.getInt32Ty();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(wide))
    bits = llvm::FixedVectorType::get(bits, vector->getNumElements());
  llvm::Value* rounded = builder_.CreateBitCast(sum, bits);
  if (is_double) return builder_.CreateAdd(builder_.CreateTrunc(rounded, narrow), zero_point);
  constexpr double kLargeBits = 0x4b400000;  // bits of 0x1.8p23
  return builder_.CreateAdd(rounded, builder_.CreateSub(zero_point, number(narrow, kLargeBits)));
}

// (acc + 2^(s - 1) - 1 + [the result is odd before rounding]) >> s: ties round to even.
llvm::Value* Emitter::round_by_shifting(llvm::Value* acc, int shift, llvm::Value* zero_point) {
  llvm::Type* type = acc->getType();
  llvm::Value* odd = builder_.CreateAnd(builder_.CreateLShr(acc, number(type, shift)), number(type, 1));
  llvm::Value* sum = builder_.CreateAdd(builder_.CreateAdd(acc, number(type, std::ldexp(1.0, shift - 1) - 1)), odd);
  return builder_.CreateAdd(builder_.CreateAShr(sum, number(type, shift)), zero_point);
}

// Adding the even integer does not change the direction in which a tie is rounded.
llvm::Value* Emitter::round_in_parts(llvm::Value* acc, llvm::Type* type, const ScaleParts& parts,
                                     llvm::Value* zero_point) {
  llvm::Value* even = builder_.CreateFMul(builder_.CreateSIToFP(acc, type), number(type, parts.coarse));
  return builder_.CreateAdd(builder_.CreateFPToSI(even, acc->getType()),
                            round_by_adding(acc, number(type, parts.fine), zero_point, type));
}

// The general case, in integers: s = +-m * 2^(e - 150), so the rounded value is (acc * m) shifted right by 150 - e.
// |acc * m| < 2^55: shifts by 56 and more give 0, left shifts saturate.
llvm::Function* Emitter::exact_requantize(llvm::Type* narrow, llvm::Type* scale_type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(narrow);
  const std::string name = "requantize." + std::to_string(vector ? vector->getNumElements() : 1);
  if (llvm::Function* known = module_.getFunction(name)) return known;
  auto* function = llvm::Function::Create(llvm::FunctionType::get(narrow, {narrow, scale_type, narrow}, false),
                                          llvm::Function::InternalLinkage, name, module_);
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  function->setDoesNotThrow();
  set_processor(function);
  const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  llvm::Value *acc = function->getArg(0), *scale = function->getArg(1), *zero_point = function->getArg(2);

  llvm::Type* wide = builder_.getInt64Ty();
  if (vector) wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
  const auto n32 = [&](double value) { return number(narrow, value); };
  const auto n64 = [&](double value) { return number(wide, value); };
  llvm::Value* bits = builder_.CreateBitCast(scale, narrow);
  llvm::Value* exponent = builder_.CreateAnd(builder_.CreateLShr(bits, n32(23)), n32(255));
  llvm::Value* fraction = builder_.CreateOr(builder_.CreateAnd(bits, n32(0x007fffff)), n32(0x00800000));
  llvm::Value* magnitude = builder_.CreateSelect(builder_.CreateICmpEQ(exponent, n32(0)), n32(0), fraction);
  llvm::Value* m =
      builder_.CreateSelect(builder_.CreateICmpSLT(bits, n32(0)), builder_.CreateNeg(magnitude), magnitude);
  llvm::Value* product = builder_.CreateMul(builder_.CreateSExt(acc, wide), builder_.CreateSExt(m, wide));
  llvm::Value* shift = builder_.CreateSub(n32(150), exponent);

  const auto clamp = [&](llvm::Value* value, double low, double high) {
    return builder_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smin, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, n64(low)), n64(high));
  };
  llvm::Value* right32 = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, shift, n32(1)), n32(60));
  llvm::Value* right = builder_.CreateZExt(right32, wide);
  llvm::Value* odd = builder_.CreateAnd(builder_.CreateAShr(product, right), n64(1));
  llvm::Value* half = builder_.CreateSub(builder_.CreateShl(n64(1), builder_.CreateSub(right, n64(1))), n64(1));
  llvm::Value* rounded = builder_.CreateAShr(builder_.CreateAdd(product, builder_.CreateAdd(half, odd)), right);
  // Shift by 0 or to the left: values of more than 33 bits saturate anyway.
  llvm::Value* left32 = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, builder_.CreateNeg(shift), n32(0)),
      n32(29));
  llvm::Value* shifted =
      builder_.CreateShl(clamp(product, -8589934592.0, 8589934592.0), builder_.CreateZExt(left32, wide));
  llvm::Value* value = builder_.CreateSelect(builder_.CreateICmpSGT(shift, n32(0)), rounded, shifted);
  value = clamp(value, -8589934592.0, 8589934592.0);
  value = clamp(builder_.CreateAdd(value, builder_.CreateSExt(zero_point, wide)), -2147483648.0, 2147483647.0);
  builder_.CreateRet(builder_.CreateTrunc(value, narrow));
  return function;
}

}  // namespace dovetail::cpu
