// float16 and bfloat16. In memory they have 16 bits; as values they are binary32 numbers representable in the type, and
// every operation is a binary32 operation whose result is rounded to it (loops/scalar/element.h), bit-identical to the
// reference.
#include <array>
#include <cmath>

#include <llvm/IR/Intrinsics.h>

#include "base/check.h"
#include "compiler/target/cpu/codegen/emitter.h"

namespace dovetail::cpu {

namespace {

// A type with the given scalar type and the lanes of another type.
llvm::Type* like(llvm::Type* scalar, llvm::Type* lanes) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(lanes);
  return vector ? llvm::FixedVectorType::get(scalar, vector->getNumElements()) : scalar;
}

constexpr double kSign = -2147483648.0;  // as a signed integer

}  // namespace

// F16C is part of x86-64-v3.
bool Emitter::converts_float16() const {
  return cpu_.architecture == Architecture::aarch64 ||
         (cpu_.architecture == Architecture::x86_64 && cpu_.vector_bytes >= 32);
}

llvm::Value* Emitter::half_from_bits(DType dtype, llvm::Value* bits) {
  llvm::Type* single = like(builder_.getFloatTy(), bits->getType());
  llvm::Type* word = like(builder_.getInt32Ty(), bits->getType());
  if (dtype == DType::float16 && converts_float16())
    return builder_.CreateFPExt(builder_.CreateBitCast(bits, like(builder_.getHalfTy(), bits->getType())), single);
  llvm::Value* wide = builder_.CreateZExt(bits, word);
  if (dtype == DType::bfloat16) return builder_.CreateBitCast(builder_.CreateShl(wide, number(word, 16)), single);
  // Exponent and fraction moved to their binary32 positions: too small by 2^112, including subnormals, except for
  // infinity and NaN.
  const auto n = [&](double value) { return number(word, value); };
  llvm::Value* sign = builder_.CreateShl(builder_.CreateAnd(wide, n(0x8000)), n(16));
  llvm::Value* magnitude = builder_.CreateShl(builder_.CreateAnd(wide, n(0x7fff)), n(13));
  llvm::Value* scaled = builder_.CreateBitCast(
      builder_.CreateFMul(builder_.CreateBitCast(magnitude, single), number(single, 0x1p112)), word);
  llvm::Value* beyond = builder_.CreateICmpUGE(magnitude, n(0x0f800000));
  llvm::Value* special = builder_.CreateOr(magnitude, n(0x7f800000));
  return builder_.CreateBitCast(builder_.CreateOr(sign, builder_.CreateSelect(beyond, special, scaled)), single);
}

llvm::Value* Emitter::half_to_bits(DType dtype, llvm::Value* value) {
  llvm::Type* word = like(builder_.getInt32Ty(), value->getType());
  llvm::Type* bits = like(builder_.getInt16Ty(), value->getType());
  if (dtype == DType::float16 && converts_float16())
    return builder_.CreateBitCast(builder_.CreateFPTrunc(value, like(builder_.getHalfTy(), value->getType())), bits);
  const auto n = [&](double number_value) { return number(word, number_value); };
  llvm::Value* whole = builder_.CreateBitCast(value, word);
  llvm::Value* magnitude = builder_.CreateAnd(whole, n(0x7fffffff));
  llvm::Value* is_nan = builder_.CreateICmpUGT(magnitude, n(0x7f800000));
  if (dtype == DType::bfloat16) {
    llvm::Value* last = builder_.CreateAnd(builder_.CreateLShr(whole, n(16)), n(1));
    llvm::Value* rounded = builder_.CreateAdd(whole, builder_.CreateAdd(last, n(0x7fff)));
    // A NaN must remain one without the lower half.
    llvm::Value* quiet = builder_.CreateOr(whole, n(0x00400000));
    return builder_.CreateTrunc(builder_.CreateLShr(builder_.CreateSelect(is_nan, quiet, rounded), n(16)), bits);
  }
  // Adding 2^23 times the step at the value rounds it to a multiple of the step, ties to even. Below 2^-14, the step is
  // always 2^-24.
  llvm::Type* single = value->getType();
  llvm::Value* exponent = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umax, builder_.CreateAnd(magnitude, n(0x7f800000)), n(static_cast<double>(113U << 23)));
  llvm::Value* large =
      builder_.CreateBitCast(builder_.CreateAdd(exponent, n(static_cast<double>(13U << 23))), single);  // 2^13 * 2^e
  llvm::Value* positive = builder_.CreateBitCast(magnitude, single);
  llvm::Value* rounded = builder_.CreateFSub(builder_.CreateFAdd(positive, large), large);
  // In binary16 positions: 2^-112 times the value, exact unless it overflows.
  llvm::Value* placed =
      builder_.CreateLShr(builder_.CreateBitCast(builder_.CreateFMul(rounded, number(single, 0x1p-112)), word), n(13));
  placed = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, placed, n(0x7c00));
  llvm::Value* payload = builder_.CreateOr(builder_.CreateAnd(builder_.CreateLShr(whole, n(13)), n(0x3ff)), n(0x7e00));
  placed = builder_.CreateSelect(builder_.CreateICmpUGE(magnitude, n(0x47800000)), n(0x7c00), placed);
  placed = builder_.CreateSelect(is_nan, payload, placed);
  llvm::Value* sign = builder_.CreateLShr(builder_.CreateAnd(whole, n(kSign)), n(16));
  return builder_.CreateTrunc(builder_.CreateOr(sign, placed), bits);
}

llvm::Value* Emitter::round_to(DType dtype, llvm::Value* value) {
  return is_half(dtype) ? half_from_bits(dtype, half_to_bits(dtype, value)) : value;
}

// To binary32 such that rounding again to fewer bits equals rounding once: any lost bits are ORed into the last kept
// bit.
llvm::Value* Emitter::round_to_odd(llvm::Value* value) {
  llvm::Type* single = like(builder_.getFloatTy(), value->getType());
  llvm::Type* word = like(builder_.getInt32Ty(), value->getType());
  llvm::Value* nearest = builder_.CreateFPTrunc(value, single);
  llvm::Value* again = builder_.CreateFPExt(nearest, value->getType());
  llvm::Value* inexact = builder_.CreateFCmpONE(again, value);
  llvm::Value* away = builder_.CreateFCmpOGT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, again),
                                             builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* bits = builder_.CreateBitCast(nearest, word);
  bits = builder_.CreateSub(bits, builder_.CreateZExt(away, word));
  bits = builder_.CreateOr(bits, builder_.CreateZExt(inexact, word));
  return builder_.CreateBitCast(bits, single);
}

llvm::Value* Emitter::half_from_integer(DType dtype, llvm::Value* value, bool is_signed) {
  llvm::Type* wide = like(builder_.getDoubleTy(), value->getType());
  if (value->getType()->getScalarSizeInBits() == 64) {
    // Beyond 2^52, the low bits are ORed into a bit that binary64 keeps.
    llvm::Type* type = value->getType();
    const auto n = [&](double number_value) { return number(type, number_value); };
    llvm::Value* magnitude =
        is_signed ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, builder_.getFalse()) : value;
    llvm::Value* low = builder_.CreateICmpNE(builder_.CreateAnd(value, n(0xfff)), n(0));
    llvm::Value* traced =
        builder_.CreateOr(builder_.CreateAnd(value, n(-4096)), builder_.CreateSelect(low, n(0x800), n(0)));
    value = builder_.CreateSelect(builder_.CreateICmpUGE(magnitude, n(0x1p52)), traced, value);
  }
  llvm::Value* exact = is_signed ? builder_.CreateSIToFP(value, wide) : builder_.CreateUIToFP(value, wide);
  return round_to(dtype, round_to_odd(exact));
}

}  // namespace dovetail::cpu
