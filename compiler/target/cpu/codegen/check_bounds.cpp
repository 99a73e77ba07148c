// Kernels with bounds checks (Cpu::check_bounds): before each access, the bytes that it touches are compared with the
// extent of its buffer, since neighboring buffers may follow without a gap. An access outside is reported and
// redirected to scratch memory. Accesses added by LLVM's passes are not part of the loop program and are not checked.
#include <optional>

#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "base/check.h"
#include "bundle/bundle.h"
#include "compiler/target/cpu/codegen/emitter.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::uint32_t kNoSite = ~std::uint32_t{0};

// The memory that an access touches: `bytes` from its pointer, or from each lane's pointer.
struct Touched {
  unsigned pointer = 0;  // operand number
  std::uint64_t bytes = 0;
  std::uint64_t align = 1;
  unsigned lanes = 1;           // parts that may be masked
  llvm::Value* mask = nullptr;  // mask of the lanes; null: all are touched
  bool side_by_side = true;     // the lanes are contiguous from a single pointer
  std::uint64_t whole() const { return side_by_side ? lanes * bytes : bytes; }
};

std::uint64_t constant_of(const llvm::Value* value) { return llvm::cast<llvm::ConstantInt>(value)->getZExtValue(); }

// nullopt: this instruction is not used by the code generator to access buffers.
std::optional<Touched> touched_by(const llvm::Instruction& access, const TileRegisters& tiles) {
  const llvm::DataLayout& layout = access.getModule()->getDataLayout();
  const auto size_of = [&](llvm::Type* type) { return layout.getTypeStoreSize(type).getFixedValue(); };
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&access))
    return Touched{load->getPointerOperandIndex(), size_of(load->getType()), load->getAlign().value()};
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&access))
    return Touched{store->getPointerOperandIndex(), size_of(store->getValueOperand()->getType()),
                   store->getAlign().value()};
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&access);
  if (call == nullptr) return std::nullopt;
  const auto lanes = [&](llvm::Type* type, unsigned pointer, bool side_by_side) {  // followed by alignment and mask
    const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
    return Touched{pointer,
                   size_of(vector->getElementType()),
                   constant_of(call->getArgOperand(pointer + 1)),
                   vector->getNumElements(),
                   call->getArgOperand(pointer + 2),
                   side_by_side};
  };
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::masked_load: return lanes(call->getType(), 0, true);
    case llvm::Intrinsic::masked_gather: return lanes(call->getType(), 0, false);
    case llvm::Intrinsic::masked_store: return lanes(call->getArgOperand(0)->getType(), 1, true);
    case llvm::Intrinsic::masked_scatter: return lanes(call->getArgOperand(0)->getType(), 1, false);
    case llvm::Intrinsic::x86_tileloadd64:
    case llvm::Intrinsic::x86_tilestored64: {  // register, pointer, row stride in bytes
      const TileRegisters::Shape& shape = tiles.shapes[constant_of(call->getArgOperand(0))];
      const std::uint64_t between = constant_of(call->getArgOperand(2));
      return Touched{
          1, static_cast<std::uint64_t>(shape.rows - 1) * between + static_cast<std::uint64_t>(shape.row_bytes)};
    }
    default: return std::nullopt;
  }
}

// The known origin of a pointer: a byte offset from a value that is not the result of address arithmetic.
std::pair<const llvm::Value*, std::int64_t> origin_of(const llvm::Value* pointer, const llvm::DataLayout& layout) {
  llvm::APInt offset(64, 0);
  const llvm::Value* root = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
  return {root, offset.getSExtValue()};
}

// Memory that kernels access in addition to their buffers: the services, arguments of a parallel loop's body, and tile
// registers.
bool is_of_the_frame(const llvm::Instruction& instruction, const std::set<const llvm::Value*>& own) {
  if (instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load)) return true;
  if (const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction)) {
    const llvm::Value* root = llvm::getUnderlyingObject(pointer);
    return llvm::isa<llvm::Argument>(root) || own.contains(root);
  }
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return llvm::isa<llvm::CallInst>(instruction);  // a service, or code without memory accesses
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::x86_ldtilecfg:
    case llvm::Intrinsic::x86_tilerelease:
    case llvm::Intrinsic::x86_tilezero:
    case llvm::Intrinsic::x86_tdpbssd:
    case llvm::Intrinsic::x86_tdpbusd: return true;
    default: return false;
  }
}

}  // namespace

// Avoids a branch per access: a variable holds the site of the last access out of bounds, which is reported at the end
// of the frame.
void Emitter::check_bounds() {
  std::map<const llvm::Instruction*, const BufferNode*> noted(frame_.accesses.begin(), frame_.accesses.end());
  llvm::Instruction* end = nullptr;
  std::uint64_t widest = 1;
  for (llvm::BasicBlock& block : *frame_.function)
    for (llvm::Instruction& instruction : block) {
      if (llvm::isa<llvm::ReturnInst>(instruction)) end = &instruction;
      if (!instruction.mayReadOrWriteMemory()) continue;
      const bool known = noted.contains(&instruction) || is_of_the_frame(instruction, frame_.own);
      DOVETAIL_CHECK(known, "every memory access must be recorded with its buffer");
      if (noted.contains(&instruction)) widest = std::max(widest, touched_by(instruction, tiles_).value().whole());
    }
  builder_.SetInsertPoint(&frame_.function->getEntryBlock(), frame_.function->getEntryBlock().begin());
  Outside outside;
  auto* elsewhere = builder_.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), widest), nullptr, "elsewhere");
  elsewhere->setAlignment(llvm::Align(bundle::kTensorAlignment));
  outside.elsewhere = elsewhere;
  outside.site = builder_.CreateAlloca(builder_.getInt32Ty(), nullptr, "site");
  outside.byte = builder_.CreateAlloca(builder_.getInt64Ty(), nullptr, "byte");
  builder_.CreateStore(builder_.getInt32(kNoSite), outside.site);
  for (const auto& [access, buffer] : frame_.accesses) check_bounds(*access, *buffer, outside);

  builder_.SetInsertPoint(end);
  llvm::Value* site = builder_.CreateLoad(builder_.getInt32Ty(), outside.site);
  llvm::Value* found = builder_.CreateICmpNE(site, builder_.getInt32(kNoSite));
  llvm::MDNode* unlikely = llvm::MDBuilder(context_).createUnlikelyBranchWeights();
  builder_.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(found, end->getIterator(), false, unlikely));
  report_failure(site, builder_.CreateLoad(builder_.getInt64Ty(), outside.byte));
}

void Emitter::check_bounds(llvm::Instruction& access, const BufferNode& buffer, const Outside& outside) {
  const llvm::DataLayout& layout = module_.getDataLayout();
  const Touched touched = *touched_by(access, tiles_);
  const auto extent =
      static_cast<std::uint64_t>(element_count(buffer.shape)) * static_cast<std::uint64_t>(size_bytes(buffer.dtype));
  llvm::Value* pointer = access.getOperand(touched.pointer);
  llvm::Value* base = frame_.pointers.at(&buffer);
  if (touched.side_by_side) {  // computing the distance statically lets buffers become SSA values
    const auto from = origin_of(base, layout), to = origin_of(pointer, layout);
    const std::int64_t begin = to.second - from.second;
    if (from.first == to.first && begin >= 0 && static_cast<std::uint64_t>(begin) % touched.align == 0 &&
        static_cast<std::uint64_t>(begin) + touched.whole() <= extent)
      return;
  }
  builder_.SetInsertPoint(&access);
  const bool by_lanes = touched.mask != nullptr;
  const auto in_lanes = [&](llvm::Value* value) {
    return by_lanes && !value->getType()->isVectorTy() ? builder_.CreateVectorSplat(touched.lanes, value) : value;
  };
  const auto constant = [](llvm::Value* like, std::uint64_t value) {
    return llvm::ConstantInt::get(like->getType(), value);
  };
  llvm::Type* address = pointer->getType()->getWithNewType(builder_.getInt64Ty());
  llvm::Value* origin = builder_.CreatePtrToInt(base, builder_.getInt64Ty());
  if (!touched.side_by_side) origin = in_lanes(origin);
  llvm::Value* first = builder_.CreateSub(builder_.CreatePtrToInt(pointer, address), origin);
  llvm::Value* begin = in_lanes(first);
  if (by_lanes && touched.side_by_side) {
    std::vector<llvm::Constant*> lanes;
    for (unsigned lane = 0; lane < touched.lanes; ++lane) lanes.push_back(builder_.getInt64(lane * touched.bytes));
    begin = builder_.CreateAdd(begin, llvm::ConstantVector::get(lanes));
  }
  llvm::Value* broken = touched.bytes > extent
                            ? llvm::ConstantInt::getTrue(llvm::CmpInst::makeCmpResultType(begin->getType()))
                            : builder_.CreateICmpUGT(begin, constant(begin, extent - touched.bytes));
  if (touched.align > 1)
    broken = builder_.CreateOr(
        broken, in_lanes(builder_.CreateICmpNE(builder_.CreateAnd(first, constant(first, touched.align - 1)),
                                               constant(first, 0))));
  llvm::Value *any = broken, *shown = begin;
  if (by_lanes) {
    broken = builder_.CreateAnd(broken, touched.mask);
    any = builder_.CreateOrReduce(broken);
    shown = builder_.CreateIntMaxReduce(builder_.CreateSelect(broken, begin, constant(begin, 0)));
  }
  access.setOperand(touched.pointer, touched.side_by_side
                                         ? builder_.CreateSelect(any, outside.elsewhere, pointer)
                                         : builder_.CreateSelect(broken, in_lanes(outside.elsewhere), pointer));
  const std::uint32_t site =
      site_of(fmt::format("an access of {} starts at a byte that is not a multiple of {}, or leaves its {} bytes",
                          buffer.name, touched.align, extent));
  const auto keep = [&](llvm::Value* variable, llvm::Value* value) {
    builder_.CreateStore(builder_.CreateSelect(any, value, builder_.CreateLoad(value->getType(), variable)), variable);
  };
  keep(outside.site, builder_.getInt32(site));
  keep(outside.byte, shown);
}

}  // namespace dovetail::cpu
