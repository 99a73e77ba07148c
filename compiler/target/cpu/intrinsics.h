// The CPU's tensor intrinsics as library rows; compiler/target/cpu/codegen/intrinsic_calls.cpp emits their
// instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/intrinsic.h"

namespace dovetail::cpu {

// With VNNI or AMX, one lane of a dot product sums the products of four bytes of each operand.
inline constexpr std::int64_t kDotBytes = 4;
// The dot products of vectors: each lane of int32 sums `depth` products of activations and bytes of weights.
struct DotProduct {
  DType activations;
  std::int64_t depth;
};
DotProduct dot_product(const Cpu& cpu);
// The memory scope of tile registers.
inline constexpr const char* kTileScope = "x86.tile";
// The lanes of int32 in a row of a tile.
inline constexpr std::int64_t kTileLanes = kTileRowBytes / kDotBytes;

// With VNNI:
//   x86.vpdpbusd (D: int32[16], X: uint8[4], W: int8[16, 4])    D[o] += sum over i of X[i] * W[o, i], wrapping
//   x86.vpdpbusd.ymm                                            the same with 8 lanes
// Without VNNI, where the weights become words as they are loaded:
//   x86.pmaddwd.L (D: int32[L], X: int16[2], W: int8[L, 2])     D[o] += sum over i of X[i] * W[o, i], with L = 4, 8, 16
// On other architectures with vectors, of 4 lanes:
//   usdot (D: int32[4], X: uint8[4], W: int8[4, 4])             as vpdpbusd; AArch64 with FEAT_I8MM
//   smlal2 (D: int32[4], X: int16[2], W: int8[4, 2])            as pmaddwd, by two multiply-adds of words
// On processors with AMX, for up to 16 rows m and quadruples of bytes q; D, A and B in scope x86.tile, M in memory:
//   x86.tilezero.m (D: int32[m, 16])                            D = 0
//   x86.tileloadd.s8.mxq (D: int8[m, q, 4], M)                  D = M, for u8: uint8
//   x86.tdpbssd.mxq (D: int32[m, 16], A: int8[m, q, 4], B: int8[q, 16, 4])
//                                                               D[i, o] += sum over A[i, k, b] * B[k, o, b], wrapping
//   x86.tdpbusd.mxq                                             the same for A: uint8
//   x86.tilestored.m (M: int32[m, 16], A)                       M = A
const loops::IntrinsicTable& intrinsics(const Cpu& cpu);

std::string dot_product_name(const Cpu& cpu);
bool is_dot_product(std::string_view intrinsic);  // of any class

enum class TileOperation : std::uint8_t { zero, load, multiply, store };
struct TileIntrinsic {
  TileOperation operation;
  DType bytes;  // of the loaded elements, or of A
  std::int64_t rows,
      quads;  // zeroed or stored tiles have kTileLanes lanes of int32, with as many bytes as the quads of a load
};
std::string name(const TileIntrinsic& tile);
std::optional<TileIntrinsic> find_tile_intrinsic(std::string_view name);

}  // namespace dovetail::cpu
