// Types and constants, uniform and varying.
#include <fmt/format.h>

#include "base/check.h"
#include "compiler/target/cpu/codegen/emitter.h"

namespace dovetail::cpu {

using namespace loops;

llvm::Type* Emitter::type_of(DType dtype) const {
  switch (dtype) {
    case DType::boolean: return llvm::Type::getInt1Ty(context_);
    case DType::int8:
    case DType::uint8: return llvm::Type::getInt8Ty(context_);
    case DType::int16:
    case DType::uint16: return llvm::Type::getInt16Ty(context_);
    case DType::int32:
    case DType::uint32: return llvm::Type::getInt32Ty(context_);
    case DType::int64:
    case DType::uint64: return llvm::Type::getInt64Ty(context_);
    case DType::float16:
    case DType::bfloat16:
    case DType::float32: return llvm::Type::getFloatTy(context_);
    case DType::float64: return llvm::Type::getDoubleTy(context_);
  }
  DOVETAIL_CHECK(false, fmt::format("{} must be a value type", name(dtype)));
  return nullptr;
}

llvm::Type* Emitter::memory_type_of(DType dtype) const {
  if (is_half(dtype)) return llvm::Type::getInt16Ty(context_);
  return dtype == DType::boolean ? llvm::Type::getInt8Ty(context_) : type_of(dtype);
}

llvm::Value* Emitter::splat(Value value) {
  return value.varying ? value.llvm : builder_.CreateVectorSplat(lanes_, value.llvm);
}

llvm::Constant* Emitter::number(llvm::Type* type, double value) const {
  llvm::Type* scalar = type->getScalarType();
  llvm::Constant* constant = scalar->isFloatingPointTy()
                                 ? llvm::ConstantFP::get(scalar, value)
                                 : llvm::ConstantInt::getSigned(scalar, static_cast<std::int64_t>(value));
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return llvm::ConstantVector::getSplat(vector->getElementCount(), constant);
  return constant;
}

}  // namespace dovetail::cpu
