// Calls of tensor intrinsics: each row of compiler/target/cpu/intrinsics.cpp has its instruction here.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/check.h"
#include "compiler/target/cpu/codegen/emitter.h"
#include "compiler/target/cpu/codegen/tile_registers.h"
#include "compiler/target/cpu/intrinsics.h"

namespace dovetail::cpu {

using namespace loops;

void Emitter::emit_node(const CoreCall& n) {
  if (const auto tile = find_tile_intrinsic(n.intrinsic)) return emit_tile(n, *tile);
  if (n.intrinsic == "x86.vpdpbusd") return emit_dot_product(n, llvm::Intrinsic::x86_avx512_vpdpbusd_512, 16);
  if (n.intrinsic == "x86.vpdpbusd.ymm") return emit_dot_product(n, llvm::Intrinsic::x86_avx512_vpdpbusd_256, 8);
  throw InternalError("intrinsic " + n.intrinsic + " has no instruction");
}

// D[lanes] += X[4] . W[lanes][4], X unsigned, W signed bytes.
void Emitter::emit_dot_product(const CoreCall& n, unsigned instruction, unsigned lanes) {
  const auto place = [&](const IntrinsicOperand& operand) { return place_of(operand.buffer, operand.indices); };
  const Place d = place(n.operands[0]), x = place(n.operands[1]), w = place(n.operands[2]);
  auto* words = llvm::FixedVectorType::get(builder_.getInt32Ty(), lanes);
  const auto load = [&](llvm::Type* type, const Place& from, const IntrinsicOperand& operand) {
    auto* access = builder_.CreateAlignedLoad(type, from.pointer, from.align);
    annotate_access(access, operand.buffer.get());
    return access;
  };
  llvm::Value* sum = load(words, d, n.operands[0]);
  llvm::Value* broadcast = builder_.CreateVectorSplat(lanes, load(builder_.getInt32Ty(), x, n.operands[1]));
  llvm::Value* weights = load(words, w, n.operands[2]);
  llvm::Value* result = builder_.CreateIntrinsic(instruction, {}, {sum, broadcast, weights});
  auto* store = builder_.CreateAlignedStore(result, d.pointer, d.align);
  annotate_access(store, n.operands[0].buffer.get());
}

// LLVM's intrinsics of numbered tile registers. They may touch any memory for all that LLVM knows, so loads and stores
// around them stay where they are.
void Emitter::emit_tile(const CoreCall& n, const TileIntrinsic& tile) {
  frame_.uses_tiles = true;
  const auto number = [&](std::size_t operand) -> llvm::Value* {
    return builder_.getInt8(static_cast<std::uint8_t>(tiles_.number_of(n.operands[operand], core_.bounds)));
  };
  const auto rows_at = [&](const IntrinsicOperand& operand) {  // where they begin, and the bytes from one to the next
    const std::int64_t stride = axis_stride(operand, 0) * size_bytes(operand.buffer->dtype);
    return std::pair<llvm::Value*, llvm::Value*>(place_of(operand.buffer, operand.indices).pointer,
                                                 builder_.getInt64(static_cast<std::uint64_t>(stride)));
  };
  switch (tile.operation) {
    case TileOperation::zero: builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {number(0)}); break;
    case TileOperation::load: {
      const auto [pointer, stride] = rows_at(n.operands[1]);
      builder_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {number(0), pointer, stride});
      break;
    }
    case TileOperation::multiply:
      builder_.CreateIntrinsic(tile.bytes == DType::uint8 ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbssd,
                               {}, {number(0), number(1), number(2)});
      break;
    case TileOperation::store: {
      const auto [pointer, stride] = rows_at(n.operands[0]);
      builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {number(1), pointer, stride});
      break;
    }
  }
}

// Before the frame's first tile.
void Emitter::configure_tiles() {
  const auto bytes = tiles_.configuration();
  auto* value = llvm::ConstantDataArray::getRaw(
      llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), bytes.size(), builder_.getInt8Ty());
  auto* global =
      new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "tiles");
  global->setAlignment(llvm::Align(bytes.size()));
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {global});
}

// Behind its last one: the registers are back in their first state, which the system need not save.
void Emitter::release_tiles() { builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {}); }

}  // namespace dovetail::cpu
