// Emulates the instructions of tile registers by loops over rows of arrays (Cpu::tiles_in_software), with the same
// addresses, shapes and row strides as the instructions, for machines without them.
#include <vector>

#include "compiler/target/cpu/codegen/emitter.h"

namespace dovetail::cpu {

using namespace loops;

// Rows of kTileRowBytes, as many as a register can have.
llvm::Value* Emitter::tile_rows(unsigned number) {
  llvm::Value*& rows = frame_.tiles[number];
  if (rows == nullptr) {
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    llvm::BasicBlock& entry = frame_.function->getEntryBlock();
    builder_.SetInsertPoint(&entry, entry.begin());
    auto* made = builder_.CreateAlloca(
        llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<std::uint64_t>(kTileRows * kTileRowBytes)), nullptr,
        "tile");
    made->setAlignment(llvm::Align(kTileRowBytes));
    frame_.own.insert(made);
    rows = made;
  }
  return rows;
}

void Emitter::emit_tile_in_software(const CoreCall& n, const TileIntrinsic& tile) {
  const auto number = [&](std::size_t operand) { return tiles_.number_of(n.operands[operand], core_.bounds); };
  const auto row_at = [&](llvm::Value* begin, llvm::Value* row, std::int64_t bytes) {
    return builder_.CreateGEP(builder_.getInt8Ty(), begin,
                              builder_.CreateMul(row, builder_.getInt64(static_cast<std::uint64_t>(bytes))));
  };
  const auto each = [&](std::int64_t count, const char* name, const std::function<void(llvm::Value*)>& body) {
    counted_loop(builder_.getInt64(0), builder_.getInt64(static_cast<std::uint64_t>(count)), name, body);
  };
  const auto bytes_of = [&](unsigned of) {
    return llvm::FixedVectorType::get(builder_.getInt8Ty(), static_cast<unsigned>(tiles_.shapes[of].row_bytes));
  };
  auto* sums = llvm::FixedVectorType::get(builder_.getInt32Ty(), kTileLanes);
  const llvm::Align whole(kTileRowBytes), any(1);
  switch (tile.operation) {
    case TileOperation::zero: {
      llvm::Value* to = tile_rows(number(0));
      each(tile.rows, "row", [&](llvm::Value* row) {
        builder_.CreateAlignedStore(llvm::Constant::getNullValue(sums), row_at(to, row, kTileRowBytes), whole);
      });
      break;
    }
    case TileOperation::load:
    case TileOperation::store: {
      const bool loads = tile.operation == TileOperation::load;
      const IntrinsicOperand& memory = n.operands[loads ? 1 : 0];
      const unsigned of = number(loads ? 0 : 1);
      const std::int64_t stride = axis_stride(memory, 0) * size_bytes(memory.buffer->dtype);
      llvm::Value *begin = place_of(memory.buffer, memory.indices).pointer, *rows = tile_rows(of);
      each(tiles_.shapes[of].rows, "row", [&](llvm::Value* row) {
        llvm::Value *inside = row_at(rows, row, kTileRowBytes), *outside = row_at(begin, row, stride);
        auto* read = builder_.CreateAlignedLoad(bytes_of(of), loads ? outside : inside, loads ? any : whole);
        auto* written = builder_.CreateAlignedStore(read, loads ? inside : outside, loads ? whole : any);
        note_access(loads ? static_cast<llvm::Instruction*>(read) : written, memory.buffer.get());
      });
      break;
    }
    case TileOperation::multiply: {  // D[r][o] += A[r][k] . B[k][o], on quadruples of bytes
      llvm::Value *d = tile_rows(number(0)), *a = tile_rows(number(1)), *b = tile_rows(number(2));
      each(tile.rows, "row", [&](llvm::Value* row) {
        each(tile.quads, "quad", [&](llvm::Value* quad) {
          llvm::Value* sum_at = row_at(d, row, kTileRowBytes);
          llvm::Value* sum = builder_.CreateAlignedLoad(sums, sum_at, whole);
          llvm::Value* left = row_at(row_at(a, row, kTileRowBytes), quad, kDotBytes);
          llvm::Value* right =
              builder_.CreateAlignedLoad(llvm::FixedVectorType::get(builder_.getInt8Ty(), kTileLanes * kDotBytes),
                                         row_at(b, quad, kTileRowBytes), whole);
          for (int byte = 0; byte < kDotBytes; ++byte) {
            std::vector<int> lanes;
            for (int lane = 0; lane < kTileLanes; ++lane) lanes.push_back(static_cast<int>(kDotBytes) * lane + byte);
            llvm::Value* factor = builder_.CreateAlignedLoad(
                builder_.getInt8Ty(), builder_.CreateConstGEP1_64(builder_.getInt8Ty(), left, byte), any);
            factor = builder_.CreateIntCast(factor, builder_.getInt32Ty(), tile.bytes == DType::int8);
            llvm::Value* weights = builder_.CreateSExt(builder_.CreateShuffleVector(right, lanes), sums);
            sum = builder_.CreateAdd(sum, builder_.CreateMul(builder_.CreateVectorSplat(kTileLanes, factor), weights));
          }
          builder_.CreateAlignedStore(sum, sum_at, whole);
        });
      });
      break;
    }
  }
}

}  // namespace dovetail::cpu
