// Calls of tensor intrinsics: each row of compiler/target/cpu/intrinsics.cpp has its instruction here.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/check.h"
#include "compiler/target/cpu/codegen/emitter.h"

namespace dovetail::cpu {

using namespace loops;

void Emitter::emit_node(const CoreCall& n) {
  DOVETAIL_CHECK(n.intrinsic == "x86.vpdpbusd", "intrinsic " + n.intrinsic + " has an instruction");
  // D[16] += X[4] . W[16][4], X unsigned, W signed bytes.
  const auto place = [&](const IntrinsicOperand& operand) { return place_of(operand.buffer, operand.indices); };
  const Place d = place(n.operands[0]), x = place(n.operands[1]), w = place(n.operands[2]);
  auto* words = llvm::FixedVectorType::get(builder_.getInt32Ty(), 16);
  const auto load = [&](llvm::Type* type, const Place& from, const IntrinsicOperand& operand) {
    auto* access = builder_.CreateAlignedLoad(type, from.pointer, from.align);
    annotate_access(access, operand.buffer.get());
    return access;
  };
  llvm::Value* sum = load(words, d, n.operands[0]);
  llvm::Value* broadcast = builder_.CreateVectorSplat(16, load(builder_.getInt32Ty(), x, n.operands[1]));
  llvm::Value* weights = load(words, w, n.operands[2]);
  llvm::Value* result =
      builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {sum, broadcast, weights});
  auto* store = builder_.CreateAlignedStore(result, d.pointer, d.align);
  annotate_access(store, n.operands[0].buffer.get());
}

}  // namespace dovetail::cpu
