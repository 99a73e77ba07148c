// Loads and stores: the addresses of elements, and how lanes are read and written.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>

#include "base/check.h"
#include "bundle/bundle.h"
#include "compiler/target/cpu/codegen/emitter.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kScalarAlignment = 8;  // of any element

}  // namespace

llvm::Value* Emitter::pointer_to(const Buffer& buffer) {
  const auto it = frame_.pointers.find(buffer.get());
  if (it != frame_.pointers.end()) return it->second;
  // Computed at the start of the function, for all uses.
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  llvm::BasicBlock& entry = frame_.function->getEntryBlock();
  builder_.SetInsertPoint(&entry, entry.getTerminator() ? entry.getTerminator()->getIterator() : entry.end());
  llvm::Type* pointer = llvm::PointerType::get(context_, 0);
  llvm::Value* result = nullptr;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].buffer == buffer) {
      auto* load = load_unchanging(pointer, builder_.CreateConstGEP1_64(pointer, frame_.buffers, i));
      load->setName(buffer->name);
      if (!cpu_.is_exported)
        load->setMetadata(
            llvm::LLVMContext::MD_align,
            llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(builder_.getInt64(bundle::kTensorAlignment))));
      result = load;
    }
  if (result == nullptr) {
    const auto place = workspace_.places.find(buffer.get());
    DOVETAIL_CHECK(place != workspace_.places.end(), "buffer " + buffer->name + " must have a place");
    switch (place->second.kind) {
      case Workspace::Kind::shared:
        result = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), service(kShared, pointer),
                                             static_cast<std::uint64_t>(place->second.offset), buffer->name);
        break;
      case Workspace::Kind::local:
        result = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), frame_.local,
                                             static_cast<std::uint64_t>(place->second.offset), buffer->name);
        break;
      case Workspace::Kind::stack: {
        auto* slot = builder_.CreateAlloca(
            llvm::ArrayType::get(memory_type_of(buffer->dtype),
                                 static_cast<std::uint64_t>(std::max<std::int64_t>(element_count(buffer->shape), 1))),
            nullptr, buffer->name);
        slot->setAlignment(llvm::Align(cpu_.vector_bytes > 0 ? bundle::kTensorAlignment : kScalarAlignment));
        result = slot;
        break;
      }
    }
  }
  return frame_.pointers[buffer.get()] = result;
}

void Emitter::note_access(llvm::Instruction* access, const BufferNode* buffer) {
  if (cpu_.check_bounds) frame_.accesses.emplace_back(access, buffer);
}

void Emitter::annotate_access(llvm::Instruction* access, const BufferNode* buffer) {
  note_access(access, buffer);
  if (const auto it = scopes_.find(buffer); it != scopes_.end()) {
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, it->second);
    access->setMetadata(llvm::LLVMContext::MD_noalias, others_.at(buffer));
  }
}

// An index that depends on data is checked where it is used; one outside becomes 0 and the failure is reported. An
// empty buffer has no element 0: load_from and store_to skip such a buffer.
Expr Emitter::checked_index(const Buffer& buffer, std::size_t dimension, const Expr& index) {
  if (!holds_load(index)) return index;
  const std::int64_t extent = buffer->shape[dimension];
  // A byte cannot exceed a table of 256.
  const auto proven = bound(index, core_.bounds);
  const bool inside = proven && proven->min >= 0 && proven->max < extent;
  const Value value = emit(index);
  llvm::Type* type = value.llvm->getType();
  if (inside) {
    const Var var = make_var("data", DType::int64);
    computed_.emplace_back(var, value.llvm);
    return ref(var);
  }
  llvm::Value* outside = builder_.CreateICmpUGE(value.llvm, number(type, static_cast<double>(extent)));
  fail_where({outside, value.varying},
             fmt::format("an index of {} is outside 0 <= index < {} (dimension {})", buffer->name, extent, dimension),
             value);
  const Var var = make_var("checked", DType::int64);
  computed_.emplace_back(var, builder_.CreateSelect(outside, number(type, 0), value.llvm));
  return ref(var);
}

llvm::Value* Emitter::lane_offsets(std::int64_t stride) {
  std::vector<llvm::Constant*> offsets;
  for (unsigned i = 0; i < lanes_; ++i)
    offsets.push_back(builder_.getInt64(static_cast<std::uint64_t>(static_cast<std::int64_t>(i) * stride)));
  return llvm::ConstantVector::get(offsets);
}

Emitter::Place Emitter::place_of(const Buffer& buffer, const std::vector<Expr>& indices) {
  Expr offset = int_imm(0);
  std::int64_t stride = 1;
  for (std::size_t d = indices.size(); d-- > 0;) {
    offset = offset + checked_index(buffer, d, indices[d]) * stride;
    stride *= buffer->shape[d];
  }
  Linear linear = linear_form(simplify(offset, core_.bounds));
  // Terms of outer loops first: their partial sums are the same for all inner iterations, and LLVM hoists them.
  const auto depth_of = [&](const Expr& expr) {
    int depth = 0;
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<VarRef>(&e->node))
        if (const auto it = depth_.find(n->var.get()); it != depth_.end()) depth = std::max(depth, it->second);
    });
    return depth;
  };
  std::stable_sort(linear.terms.begin(), linear.terms.end(),
                   [&](const LinearTerm& a, const LinearTerm& b) { return depth_of(a.atom) < depth_of(b.atom); });

  Place place;
  place.stride = 0;
  place.constant = linear.constant;
  llvm::Value* uniform = nullptr;
  llvm::Value* varying = nullptr;
  std::int64_t divisor = linear.constant;
  const auto add = [&](llvm::Value*& sum, llvm::Value* term) { sum = sum ? builder_.CreateAdd(sum, term) : term; };
  for (const LinearTerm& term : linear.terms) {
    if (const auto* n = std::get_if<VarRef>(&term.atom->node);
        n != nullptr && lane_var_ != nullptr && n->var.get() == lane_var_) {
      place.stride = term.coefficient;
      continue;
    }
    Value value;
    const auto* n = std::get_if<VarRef>(&term.atom->node);
    if (n != nullptr && !frame_.serial.empty() && n->var.get() == frame_.serial.back().var)
      place.step = term.coefficient;
    const auto computed = n == nullptr ? computed_.end()
                                       : std::find_if(computed_.begin(), computed_.end(),
                                                      [&](const auto& entry) { return entry.first == n->var; });
    if (computed != computed_.end()) {
      value = {computed->second, computed->second->getType()->isVectorTy()};
    } else {
      value = emit(term.atom);
    }
    divisor = std::gcd(divisor, term.coefficient);
    add(value.varying ? varying : uniform,
        builder_.CreateMul(value.llvm, number(value.llvm->getType(), static_cast<double>(term.coefficient))));
  }
  llvm::Type* element = memory_type_of(buffer->dtype);
  llvm::Value* base = pointer_to(buffer);
  if (uniform) base = builder_.CreateGEP(element, base, uniform);
  if (linear.constant != 0)
    base = builder_.CreateConstGEP1_64(element, base, static_cast<std::uint64_t>(linear.constant));
  place.pointer = base;
  if (varying) {
    if (*place.stride != 0) varying = builder_.CreateAdd(varying, lane_offsets(*place.stride));
    place.offsets = varying;
    place.stride.reset();
  }
  const auto known = workspace_.places.find(buffer.get());
  place.whole = place.stride == 1 && uniform == nullptr && linear.constant >= 0 &&
                linear.constant + lanes_ <= element_count(buffer->shape) && known != workspace_.places.end() &&
                known->second.kind == Workspace::Kind::stack;
  const std::int64_t most = cpu_.is_exported ? size_bytes(buffer->dtype) : bundle::kTensorAlignment;
  const std::int64_t bytes = divisor == 0 ? most : std::abs(divisor) * size_bytes(buffer->dtype);
  place.align = llvm::Align(static_cast<std::uint64_t>(std::min(bytes & -bytes, most)));
  return place;
}

llvm::Value* Emitter::value_of(DType dtype, llvm::Value* element) {
  if (is_half(dtype)) return half_from_bits(dtype, element);
  return dtype == DType::boolean ? builder_.CreateICmpNE(element, number(element->getType(), 0)) : element;
}

llvm::Value* Emitter::element_of(DType dtype, llvm::Value* value) {
  if (is_half(dtype)) return half_to_bits(dtype, value);
  if (dtype != DType::boolean) return value;
  llvm::Type* element = memory_type_of(dtype);
  if (value->getType()->isVectorTy()) element = llvm::FixedVectorType::get(element, lanes_);
  return builder_.CreateZExt(value, element);
}

Value Emitter::load_from(const Buffer& buffer, const Place& place) {
  if (element_count(buffer->shape) == 0) return {llvm::Constant::getNullValue(type_of(buffer->dtype)), false};
  llvm::Type* element = memory_type_of(buffer->dtype);
  const auto as_value = [&](llvm::Value* loaded, bool varying) {
    if (auto* access = llvm::dyn_cast<llvm::Instruction>(loaded)) annotate_access(access, buffer.get());
    return Value{value_of(buffer->dtype, loaded), varying};
  };
  if (place.stride == 0) {
    // A masked uniform load may have no active lane, and its address may then be out of bounds.
    if (mask_ == nullptr) {
      note_row(buffer, place);
      return as_value(builder_.CreateAlignedLoad(element, place.pointer, place.align), false);
    }
    llvm::Value* any = builder_.CreateOrReduce(mask_);
    auto* vector = llvm::FixedVectorType::get(element, 1);
    llvm::Value* one = builder_.CreateMaskedLoad(vector, place.pointer, place.align, builder_.CreateVectorSplat(1, any),
                                                 llvm::Constant::getNullValue(vector));
    annotate_access(llvm::cast<llvm::Instruction>(one), buffer.get());
    return {value_of(buffer->dtype, builder_.CreateExtractElement(one, std::uint64_t{0})), false};
  }
  auto* vector = llvm::FixedVectorType::get(element, lanes_);
  if (place.stride == 1) {
    note_line(buffer, place, static_cast<std::int64_t>(lanes_) * size_bytes(buffer->dtype));
    if (mask_ == nullptr || place.whole)
      return as_value(builder_.CreateAlignedLoad(vector, place.pointer, place.align), true);
    return as_value(
        builder_.CreateMaskedLoad(vector, place.pointer, place.align, mask_, llvm::Constant::getNullValue(vector)),
        true);
  }
  const llvm::Align align(static_cast<std::uint64_t>(size_bytes(buffer->dtype)));
  if (place.stride && mask_ == nullptr) {
    // Known distances: scalar loads, which LLVM combines where possible.
    llvm::Value* result = llvm::PoisonValue::get(vector);
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      auto* scalar = builder_.CreateAlignedLoad(
          element,
          builder_.CreateConstGEP1_64(element, place.pointer,
                                      static_cast<std::uint64_t>(static_cast<std::int64_t>(lane) * *place.stride)),
          align);
      annotate_access(scalar, buffer.get());
      result = builder_.CreateInsertElement(result, scalar, lane);
    }
    return {value_of(buffer->dtype, result), true};
  }
  llvm::Value* pointers =
      builder_.CreateGEP(element, place.pointer, place.stride ? lane_offsets(*place.stride) : place.offsets);
  return as_value(builder_.CreateMaskedGather(vector, pointers, align, mask_, llvm::Constant::getNullValue(vector)),
                  true);
}

void Emitter::store_to(const Buffer& buffer, const Place& place, Value value) {
  if (element_count(buffer->shape) == 0) return;
  llvm::Type* element = memory_type_of(buffer->dtype);
  value.llvm = element_of(buffer->dtype, value.llvm);
  llvm::Value* store = nullptr;
  if (place.stride == 0) {
    // All lanes write the same element and value (the iterations are independent), so any active lane can store it.
    llvm::Value* scalar = value.llvm;
    if (lane_var_ == nullptr || (mask_ == nullptr && !value.varying)) {
      store = builder_.CreateAlignedStore(scalar, place.pointer, place.align);
    } else {
      llvm::Value* pointers = builder_.CreateVectorSplat(lanes_, place.pointer);
      llvm::Value* lanes = splat(value);
      store = builder_.CreateMaskedScatter(lanes, pointers,
                                           llvm::Align(static_cast<std::uint64_t>(size_bytes(buffer->dtype))), mask_);
    }
  } else {
    llvm::Value* lanes = splat(value);
    const bool all = mask_ == nullptr || place.whole;
    if (mask_ != nullptr && place.whole) {
      // Whole vectors become SSA values, as intended for tiles; a masked store would keep them in memory.
      auto* before = builder_.CreateAlignedLoad(lanes->getType(), place.pointer, place.align);
      annotate_access(before, buffer.get());
      lanes = builder_.CreateSelect(mask_, lanes, before);
    }
    if (place.stride == 1) {
      store = all ? static_cast<llvm::Value*>(builder_.CreateAlignedStore(lanes, place.pointer, place.align))
                  : builder_.CreateMaskedStore(lanes, place.pointer, place.align, mask_);
    } else {
      llvm::Value* pointers =
          builder_.CreateGEP(element, place.pointer, place.stride ? lane_offsets(*place.stride) : place.offsets);
      store = builder_.CreateMaskedScatter(lanes, pointers,
                                           llvm::Align(static_cast<std::uint64_t>(size_bytes(buffer->dtype))), mask_);
    }
  }
  annotate_access(llvm::cast<llvm::Instruction>(store), buffer.get());
}

}  // namespace dovetail::cpu
