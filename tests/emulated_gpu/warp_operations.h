// Matrix products of warps on this machine, lane by lane: each lane passes its registers, and computes its own sums
// from those of all lanes, at the positions that PTX defines ("Matrix fragments for mma"), element by element in the
// order of the depth.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>

#include "base/float16_bits.h"
#include "tests/emulated_gpu/box_copies.h"
#include "tests/emulated_gpu/group_operations.h"
#include "tests/emulated_gpu/instructions.h"
#include "tests/emulated_gpu/state.h"

namespace emulated_gpu {

struct LaneFactors {
  std::array<unsigned, 4> a{};
  std::array<unsigned, 2> b{};
};
using WarpFactors = std::array<LaneFactors, 32>;

inline float factor(std::uint16_t bits, bool brain) {
  return brain ? dovetail::float16_bits::from_bfloat16(bits) : dovetail::float16_bits::from_float16(bits);
}

// Element k of row `row` of A, or of column `column` of B; a register packs `packed` elements.
inline unsigned part_of(unsigned bits, unsigned number, unsigned packed) { return bits >> (32 / packed * number); }
inline unsigned a_bits(const WarpFactors& warp, unsigned row, unsigned k, unsigned packed) {
  const unsigned lane = row % 8 * 4 + k / packed % 4, place = k / (4 * packed) * 2 + row / 8;
  return part_of(warp[lane].a[place], k % packed, packed);
}
inline unsigned b_bits(const WarpFactors& warp, unsigned column, unsigned k, unsigned packed) {
  const unsigned lane = column * 4 + k / packed % 4, place = k / (4 * packed);
  return part_of(warp[lane].b[place], k % packed, packed);
}

template <typename Sum, typename Left, typename Right>
void mma(std::array<Sum*, 4> sums, const LaneFactors& own, unsigned packed, unsigned depth, const Left& left,
         const Right& right) {
  static std::map<unsigned, WarpFactors> by_warp;
  const State& s = emulated_gpu_state;
  const unsigned thread = s.thread.x + s.block_extent.x * (s.thread.y + s.block_extent.y * s.thread.z);
  const unsigned lane = thread % 32;
  by_warp[thread / 32][lane] = own;
  s.meet_warp();
  const WarpFactors warp = by_warp[thread / 32];
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (unsigned k = 0; k < depth; ++k)
      *sums[i] =
          static_cast<Sum>(*sums[i] + left(a_bits(warp, row, k, packed)) * right(b_bits(warp, column, k, packed)));
  }
  s.meet_warp();
}
template <typename Sum, typename Value>
void mma(std::array<Sum*, 4> sums, const LaneFactors& own, unsigned packed, unsigned depth, const Value& value) {
  mma(sums, own, packed, depth, value, value);
}
inline int signed_byte(unsigned bits) { return static_cast<std::int8_t>(bits); }
inline int unsigned_byte(unsigned bits) { return static_cast<std::uint8_t>(bits); }

}  // namespace emulated_gpu

inline unsigned load_register(const void* place) {
  emulated_gpu::require(reinterpret_cast<std::uintptr_t>(place) % 4 == 0, "a register is read at no multiple of four");
  unsigned bits;
  std::memcpy(&bits, place, 4);
  return bits;
}
inline unsigned pack_register(std::uint16_t a, std::uint16_t b) { return a | static_cast<unsigned>(b) << 16; }
inline unsigned pack_register(std::int8_t a, std::int8_t b, std::int8_t c, std::int8_t d) {
  const auto byte = [](std::int8_t value) { return static_cast<unsigned>(static_cast<std::uint8_t>(value)); };
  return byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24;
}

inline unsigned after_barrier() { return 0; }
// As specified in compiler/target/cuda/codegen/instructions.cuh. A row is read when its lane arrives, the earliest time
// at which the instruction may read it: nothing orders the writes of other lanes before it.
template <bool turned, std::size_t count>
void load_matrices(unsigned (&r)[count], const void* row, unsigned) {
  using Row = std::array<unsigned char, 16>;
  static std::map<unsigned, std::array<Row, 32>> by_warp;
  const emulated_gpu::State& s = emulated_gpu_state;
  const unsigned thread = s.thread.x + s.block_extent.x * (s.thread.y + s.block_extent.y * s.thread.z);
  const unsigned lane = thread % 32;
  emulated_gpu::require(reinterpret_cast<std::uintptr_t>(row) % 16 == 0, "a row is loaded at no multiple of 16");
  std::memcpy(by_warp[thread / 32][lane].data(), row, sizeof(Row));
  s.meet_warp();
  const auto rows = by_warp[thread / 32];
  for (unsigned matrix = 0; matrix < count; ++matrix) {
    const auto at = [&](unsigned i) { return rows[matrix * 8 + i].data(); };
    if (turned) {
      std::array<std::uint16_t, 2> halves{};
      for (unsigned i = 0; i < 2; ++i) std::memcpy(&halves[i], at(lane % 4 * 2 + i) + lane / 4 * 2, 2);
      r[matrix] = pack_register(halves[0], halves[1]);
    } else {
      std::memcpy(&r[matrix], at(lane / 4) + lane % 4 * 4, 4);
    }
  }
  s.meet_warp();
}

inline void mma_float16(float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                        unsigned b0, unsigned b1) {
  emulated_gpu::mma<float>({&c0, &c1, &c2, &c3}, {{a0, a1, a2, a3}, {b0, b1}}, 2, 16,
                           [](unsigned bits) { return emulated_gpu::factor(static_cast<std::uint16_t>(bits), false); });
}
inline void mma_bfloat16(float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                         unsigned b0, unsigned b1) {
  emulated_gpu::mma<float>({&c0, &c1, &c2, &c3}, {{a0, a1, a2, a3}, {b0, b1}}, 2, 16,
                           [](unsigned bits) { return emulated_gpu::factor(static_cast<std::uint16_t>(bits), true); });
}
inline void mma_int8(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                     unsigned b0, unsigned b1) {
  emulated_gpu::mma<int>({&c0, &c1, &c2, &c3}, {{a0, a1, a2, a3}, {b0, b1}}, 4, 32, emulated_gpu::signed_byte,
                         emulated_gpu::signed_byte);
}
inline void mma_uint8_int8(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                           unsigned b0, unsigned b1) {
  emulated_gpu::mma<int>({&c0, &c1, &c2, &c3}, {{a0, a1, a2, a3}, {b0, b1}}, 4, 32, emulated_gpu::unsigned_byte,
                         emulated_gpu::signed_byte);
}
inline void mma_int8_uint8(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                           unsigned b0, unsigned b1) {
  emulated_gpu::mma<int>({&c0, &c1, &c2, &c3}, {{a0, a1, a2, a3}, {b0, b1}}, 4, 32, emulated_gpu::signed_byte,
                         emulated_gpu::unsigned_byte);
}
inline void mma_tf32(float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                     unsigned b0, unsigned b1) {
  emulated_gpu::mma<float>({&c0, &c1, &c2, &c3}, {{a0, a1, a2, a3}, {b0, b1}}, 1, 8, [](unsigned bits) {
    // Rounds to the nearest value of 11 bits, ties away from zero; infinities and NaN are kept.
    constexpr unsigned kExponent = 0x7f800000, kDropped = 0x1fff;
    if ((bits & kExponent) != kExponent) bits = (bits + (kDropped + 1) / 2) & ~kDropped;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  });
}
