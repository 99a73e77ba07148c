// Calls of tensor intrinsics: the instructions for each row of compiler/target/cpu/intrinsics.cpp.
#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/check.h"
#include "compiler/target/cpu/codegen/emitter.h"
#include "compiler/target/cpu/codegen/tile_registers.h"
#include "compiler/target/cpu/codegen/transpose_loads.h"
#include "compiler/target/cpu/intrinsics.h"

namespace dovetail::cpu {

using namespace loops;

void Emitter::emit_node(const CoreCall& n) {
  if (const auto tile = find_tile_intrinsic(n.intrinsic)) return emit_tile(n, *tile);
  if (n.intrinsic == dot_product_name(cpu_)) return emit_dot_product(n);
  if (n.intrinsic == kTranspose) return emit_transposition(n);
  throw InternalError("intrinsic " + n.intrinsic + " has no instruction");
}

// D[lanes] += X[depth] . W[lanes][depth]
void Emitter::emit_dot_product(const CoreCall& n) {
  const auto lanes = static_cast<unsigned>(cpu_.lanes(4));
  const auto depth = static_cast<unsigned>(dot_product(cpu_).depth);
  const auto place = [&](const IntrinsicOperand& operand) { return place_of(operand.buffer, operand.indices); };
  const Place d = place(n.operands[0]), x = place(n.operands[1]), w = place(n.operands[2]);
  auto* words = llvm::FixedVectorType::get(builder_.getInt32Ty(), lanes);
  const auto load = [&](llvm::Type* type, const Place& from, const IntrinsicOperand& operand) {
    auto* access = builder_.CreateAlignedLoad(type, from.pointer, from.align);
    annotate_access(access, operand.buffer.get());
    return access;
  };
  note_row(n.operands[1].buffer, x);
  note_line(n.operands[2].buffer, w, static_cast<std::int64_t>(lanes) * depth);
  llvm::Value* sum = load(words, d, n.operands[0]);
  llvm::Value* activations = load(builder_.getInt32Ty(), x, n.operands[1]);
  llvm::Value* broadcast = builder_.CreateVectorSplat(lanes, activations);
  auto* bytes = llvm::FixedVectorType::get(builder_.getInt8Ty(), lanes * depth);
  llvm::Value* result = nullptr;
  if (cpu_.architecture != Architecture::x86_64 && !cpu_.byte_dots) {
    result = add_word_products(sum, activations, load(bytes, w, n.operands[2]));
  } else if (cpu_.architecture == Architecture::aarch64) {
    result = builder_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_usdot, {words, bytes},
                                      {sum, builder_.CreateBitCast(broadcast, bytes), load(bytes, w, n.operands[2])});
  } else if (cpu_.byte_dots) {
    const auto instruction =
        lanes == 16 ? llvm::Intrinsic::x86_avx512_vpdpbusd_512 : llvm::Intrinsic::x86_avx512_vpdpbusd_256;
    result = builder_.CreateIntrinsic(instruction, {}, {sum, broadcast, load(words, w, n.operands[2])});
  } else {
    auto* halves = llvm::FixedVectorType::get(builder_.getInt16Ty(), lanes * depth);
    const auto instruction = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                             : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                          : llvm::Intrinsic::x86_sse2_pmadd_wd;
    llvm::Value* weights = builder_.CreateSExt(load(bytes, w, n.operands[2]), halves);
    llvm::Value* products =
        builder_.CreateIntrinsic(instruction, {}, {builder_.CreateBitCast(broadcast, halves), weights});
    result = builder_.CreateAdd(sum, products);
  }
  auto* store = builder_.CreateAlignedStore(result, d.pointer, d.align);
  annotate_access(store, n.operands[0].buffer.get());
}

// sum[o] + low(pair) * weights[2 o] + high(pair) * weights[2 o + 1]. Words times words: NEON's smlal, RVV's vwmacc.
llvm::Value* Emitter::add_word_products(llvm::Value* sum, llvm::Value* pair, llvm::Value* weights) {
  auto* words = llvm::cast<llvm::FixedVectorType>(sum->getType());
  const unsigned lanes = words->getNumElements();
  auto* halves = llvm::FixedVectorType::get(builder_.getInt16Ty(), lanes);
  for (int part = 0; part < 2; ++part) {
    std::vector<int> mask;
    for (unsigned lane = 0; lane < lanes; ++lane) mask.push_back(static_cast<int>(2 * lane) + part);
    llvm::Value* word = builder_.CreateTrunc(part == 0 ? pair : builder_.CreateLShr(pair, 16), builder_.getInt16Ty());
    llvm::Value* factor = builder_.CreateSExt(builder_.CreateVectorSplat(lanes, word), words);
    llvm::Value* half = builder_.CreateSExt(builder_.CreateShuffleVector(weights, mask), halves);
    sum = builder_.CreateAdd(sum, builder_.CreateMul(builder_.CreateSExt(half, words), factor));
  }
  return sum;
}

namespace {

// For two vectors of 16-byte lanes: interleaves the lower or upper halves of corresponding lanes (punpckl, punpckh).
std::vector<int> interleaving(std::size_t size, std::size_t piece, bool second) {
  std::vector<int> mask;
  for (std::size_t begin = 0; begin < size; begin += piece)
    for (std::size_t i = 0; i < piece / 2; ++i) {
      const std::size_t at = begin + i + (second ? piece / 2 : 0);
      mask.push_back(static_cast<int>(at));
      mask.push_back(static_cast<int>(size + at));
    }
  return mask;
}

// The first elements of a vector, or all of them followed by undefined ones.
llvm::Value* resized(llvm::IRBuilder<>& builder, llvm::Value* vector, std::size_t size) {
  const std::size_t before = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  if (before == size) return vector;
  std::vector<int> mask(size, llvm::PoisonMaskElem);
  std::iota(mask.begin(), mask.begin() + static_cast<std::ptrdiff_t>(std::min(before, size)), 0);
  return builder.CreateShuffleVector(vector, mask);
}

}  // namespace

// D[i, j] = S[j * stride + i], for as many columns i at a time as 16 bytes hold: vector k holds, in its 16-byte pieces,
// the columns of lanes k, k + e, k + 2 e, ..., and log2(e) rounds of interleaving within pieces make the lanes of each
// column contiguous.
void Emitter::emit_transposition(const CoreCall& n) {
  const Buffer &to = n.operands[0].buffer, &from = n.operands[1].buffer;
  const auto columns = static_cast<std::size_t>(to->shape[0]), lanes = static_cast<std::size_t>(to->shape[1]);
  const std::int64_t stride = axis_stride(n.operands[1], 1);
  const Place target = place_of(to, n.operands[0].indices), source = place_of(from, n.operands[1].indices);
  llvm::Type* element = memory_type_of(from->dtype);
  const auto element_bytes = static_cast<std::size_t>(size_bytes(from->dtype));
  const std::size_t piece = kTransposedBytes / element_bytes, width = std::min(piece, columns);
  const std::size_t pieces = std::bit_ceil((lanes + piece - 1) / piece), size = pieces * piece;
  const auto element_at = [&](const Place& place, std::int64_t offset) {
    return builder_.CreateConstGEP1_64(element, place.pointer, static_cast<std::uint64_t>(offset));
  };
  // The columns of the lane, starting at the first; undefined after the last lane.
  const auto load_piece = [&](std::size_t first, std::size_t lane) -> llvm::Value* {
    if (lane >= lanes) return llvm::PoisonValue::get(llvm::FixedVectorType::get(element, piece));
    const auto load = [&](std::size_t column, std::size_t count) {
      auto* part = builder_.CreateAlignedLoad(
          llvm::FixedVectorType::get(element, count),
          element_at(source, static_cast<std::int64_t>(lane) * stride + static_cast<std::int64_t>(column)),
          llvm::Align(element_bytes));
      annotate_access(part, from.get());
      return part;
    };
    // For a partial piece, loads the first and the last columns, overlapping, each as wide as one load.
    const std::size_t part = std::bit_floor(width);
    llvm::Value* columns_of_lane = resized(builder_, load(first, part), piece);
    if (part == width) return columns_of_lane;
    std::vector<int> mask(piece, llvm::PoisonMaskElem);
    for (std::size_t i = 0; i < width; ++i) mask[i] = static_cast<int>(i < part ? i : piece + i - (width - part));
    return builder_.CreateShuffleVector(columns_of_lane, resized(builder_, load(first + width - part, part), piece),
                                        mask);
  };
  for (std::size_t done = 0; done < columns; done += piece) {
    const std::size_t first = std::min(done, columns - width);  // the last ones overlap the previous ones
    std::vector<llvm::Value*> vectors;
    for (std::size_t k = 0; k < piece; ++k) {
      std::vector<llvm::Value*> parts;
      for (std::size_t p = 0; p < pieces; ++p) parts.push_back(load_piece(first, p * piece + k));
      vectors.push_back(llvm::concatenateVectors(builder_, parts));
    }
    for (std::size_t round = 1; round < piece; round *= 2) {
      std::vector<llvm::Value*> next;
      for (std::size_t k = 0; k < piece / 2; ++k)
        for (const bool second : {false, true})
          next.push_back(
              builder_.CreateShuffleVector(vectors[k], vectors[k + piece / 2], interleaving(size, piece, second)));
      vectors = std::move(next);
    }
    for (std::size_t column = std::max(done, first); column < first + width; ++column) {
      auto* store = builder_.CreateAlignedStore(resized(builder_, vectors[column - first], lanes),
                                                element_at(target, static_cast<std::int64_t>(column * lanes)),
                                                llvm::Align(element_bytes));
      annotate_access(store, to.get());
    }
  }
}

// LLVM's intrinsics for numbered tile registers. LLVM assumes that they may access any memory, so loads and stores
// around them are not moved.
void Emitter::emit_tile(const CoreCall& n, const TileIntrinsic& tile) {
  if (cpu_.tiles_in_software) return emit_tile_in_software(n, tile);
  frame_.uses_tiles = true;
  const auto number = [&](std::size_t operand) -> llvm::Value* {
    return builder_.getInt8(static_cast<std::uint8_t>(tiles_.number_of(n.operands[operand], core_.bounds)));
  };
  const auto rows_at = [&](const IntrinsicOperand& operand) {  // start and row stride in bytes
    const std::int64_t stride = axis_stride(operand, 0) * size_bytes(operand.buffer->dtype);
    return std::pair<llvm::Value*, llvm::Value*>(place_of(operand.buffer, operand.indices).pointer,
                                                 builder_.getInt64(static_cast<std::uint64_t>(stride)));
  };
  switch (tile.operation) {
    case TileOperation::zero: builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {number(0)}); break;
    case TileOperation::load: {
      const auto [pointer, stride] = rows_at(n.operands[1]);
      note_access(builder_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {number(0), pointer, stride}),
                  n.operands[1].buffer.get());
      break;
    }
    case TileOperation::multiply:
      builder_.CreateIntrinsic(tile.bytes == DType::uint8 ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbssd,
                               {}, {number(0), number(1), number(2)});
      break;
    case TileOperation::store: {
      const auto [pointer, stride] = rows_at(n.operands[0]);
      note_access(builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {number(1), pointer, stride}),
                  n.operands[0].buffer.get());
      break;
    }
  }
}

// Placed before the frame's first tile.
void Emitter::configure_tiles() {
  const auto bytes = tiles_.configuration();
  auto* value = llvm::ConstantDataArray::getRaw(
      llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), bytes.size(), builder_.getInt8Ty());
  auto* global =
      new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "tiles");
  global->setAlignment(llvm::Align(bytes.size()));
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {global});
}

// Placed after the last tile: the registers return to their initial state, which the system need not save.
void Emitter::release_tiles() { builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {}); }

}  // namespace dovetail::cpu
