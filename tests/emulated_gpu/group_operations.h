// Products of four warps on this machine, thread by thread: each thread computes its own sums from shared memory, at
// the addresses that the descriptors define (PTX ISA, "Asynchronous warpgroup level matrix shared memory layout"), at
// some time between the call and the wait that covers it; until then its registers of sums hold a pattern. A product
// reads shared memory as of the last fence of a thread. A call that breaks a rule leaves garbage.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/float16_bits.h"
#include "tests/emulated_gpu/instructions.h"
#include "tests/emulated_gpu/state.h"

namespace emulated_gpu {

// Where a block's shared memory begins for its threads, as on a device, which reserves the first bytes.
constexpr std::uint64_t kSharedWindow = 1024;

struct Matrix {
  std::uint64_t first = 0, leading = 0, stride = 0;
  unsigned swizzle = 0;  // bytes
  bool turned = false;   // rows are adjacent, else the depth

  static Matrix of(unsigned long long descriptor, bool turned) {
    constexpr unsigned long long kField = 0x3fff;
    require((descriptor >> 49 & 7) == 0, "a descriptor has a base offset");
    const unsigned mode = static_cast<unsigned>(descriptor >> 62);
    require(mode != 0, "a descriptor without a swizzle");
    return {(descriptor & kField) << 4, (descriptor >> 16 & kField) << 4, (descriptor >> 32 & kField) << 4,
            mode == 1   ? 128u
            : mode == 2 ? 64u
                        : 32u,
            turned};
  }
  // Offset of an element in the block's shared memory.
  std::uint64_t place(unsigned row, unsigned k, unsigned bytes) const {
    const unsigned line = turned ? k : row, byte = (turned ? row : k) * bytes;
    std::uint64_t address = first + byte / swizzle * leading + byte % swizzle + line / 8 * stride + line % 8 * swizzle;
    // The address bits from 4, as many as number the 16-byte pieces of a line, are XORed with those from bit 7.
    address ^= (address >> 7 & (swizzle / 16 - 1)) << 4;
    return address - kSharedWindow;
  }
};

enum class Factors { int8, uint8_int8, int8_uint8, float16, bfloat16, tf32 };

struct GroupCall {
  Matrix a, b;
  unsigned columns, depth, bytes;
  Factors factors;
  void* sums;  // address of the first sum, which identifies the registers
  bool follows_rules = true, done = false;
};
// Registers of sums that calls write; their values are stored here until the last of these calls is done.
struct Sums {
  std::vector<void*> registers;
  std::vector<std::uint32_t> values;
  int calls = 0;
};
struct GroupState {
  std::vector<GroupCall> issued;
  std::deque<std::vector<GroupCall>> groups;
  std::map<void*, Sums> sums;
  bool arrived = false;
  unsigned calls = 0;
};
struct GroupBlock {
  std::uint64_t number = 0;
  std::map<unsigned, GroupState> threads;
  std::vector<unsigned char> seen;  // shared memory as the units see it
  // The descriptors that the first thread of a group passed at its call of that number: all threads must pass the same.
  std::map<std::pair<unsigned, unsigned>, std::pair<unsigned long long, unsigned long long>> descriptors;
};

inline unsigned own_thread() {
  const State& s = emulated_gpu_state;
  return s.thread.x + s.block_extent.x * (s.thread.y + s.block_extent.y * s.thread.z);
}
inline GroupBlock& own_group_block() {
  static GroupBlock block;
  if (block.number != emulated_gpu_state.blocks_begun) block = {emulated_gpu_state.blocks_begun, {}, {}, {}};
  return block;
}
inline GroupState& own_groups() { return own_group_block().threads[own_thread()]; }

inline std::uint64_t element(const Matrix& matrix, unsigned row, unsigned k, unsigned bytes) {
  const std::vector<unsigned char>& seen = own_group_block().seen;
  const std::uint64_t place = matrix.place(row, k, bytes);
  constexpr std::uint64_t kNothing = 0x5a5a5a5a;  // no thread has fenced, or the address is outside the block's memory
  if (place + bytes > seen.size()) return kNothing;
  std::uint64_t bits = 0;
  std::memcpy(&bits, seen.data() + place, bytes);
  return bits;
}

// Computes the 64 x columns sums; this thread has row warp * 16 + lane / 4 (+ 8), columns 8 i + lane % 4 * 2 (+ 1).
inline void carry_out(GroupState& own, GroupCall& call) {
  if (call.done) return;
  call.done = true;
  Sums& sums = own.sums.at(call.sums);
  const unsigned thread = own_thread(), warp = thread / 32 % 4, lane = thread % 32;
  for (unsigned i = 0; i < call.columns / 2; ++i) {
    const unsigned row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    float real = 0;
    std::memcpy(&real, &sums.values[i], 4);
    auto whole = sums.values[i];
    for (unsigned k = 0; k < call.depth; ++k) {
      const std::uint64_t a = element(call.a, row, k, call.bytes), b = element(call.b, column, k, call.bytes);
      if (call.bytes == 1) {
        const auto byte = [](std::uint64_t bits, bool is_unsigned) {
          return is_unsigned ? int{static_cast<std::uint8_t>(bits)} : int{static_cast<std::int8_t>(bits)};
        };
        whole += static_cast<std::uint32_t>(byte(a, call.factors == Factors::uint8_int8) *
                                            byte(b, call.factors == Factors::int8_uint8));
      } else {
        const auto value = [&](std::uint64_t bits) {
          if (call.factors == Factors::tf32) {
            // The unit ignores what TF32 does not have.
            const std::uint32_t truncated = static_cast<std::uint32_t>(bits) & ~0x1fffu;
            float factor;
            std::memcpy(&factor, &truncated, 4);
            return factor;
          }
          const auto half = static_cast<std::uint16_t>(bits);
          return call.factors == Factors::float16 ? dovetail::float16_bits::from_float16(half)
                                                  : dovetail::float16_bits::from_bfloat16(half);
        };
        real += value(a) * value(b);
      }
    }
    if (call.bytes != 1) std::memcpy(&whole, &real, 4);
    sums.values[i] = call.follows_rules ? whole : 0xa5a5a5a5;
  }
  if (--sums.calls > 0) return;
  for (std::size_t i = 0; i < sums.values.size(); ++i) std::memcpy(sums.registers[i], &sums.values[i], 4);
  own.sums.erase(call.sums);
}

// Completes calls in their order.
inline void carry_out_some(GroupState& own) {
  for (auto& group : own.groups)
    for (GroupCall& call : group)
      if (!call.done) {
        if (below(4) != 0) return;
        carry_out(own, call);
      }
}

template <typename... C>
void issue(Factors factors, unsigned bytes, unsigned columns, bool a_turned, bool b_turned, unsigned long long a,
           unsigned long long b, C&... c) {
  static_assert(sizeof...(C) > 0);
  require(sizeof...(C) == columns / 2, "a call has another number of sums than columns");
  require(bytes == 2 || (!a_turned && !b_turned), "bytes and TF32 are multiplied with their depth side by side");
  GroupState& own = own_groups();
  const auto [said, first] =
      own_group_block().descriptors.emplace(std::pair(own_thread() / 128, own.calls++), std::pair(a, b));
  // The thread has fenced since its last wait, and all threads of a group pass a call the same descriptors.
  const bool follows_rules = own.arrived && (first || said->second == std::pair(a, b));
  carry_out_some(own);
  const std::vector<void*> registers{&c...};
  Sums& sums = own.sums[registers[0]];
  if (sums.calls++ == 0) {
    sums.registers = registers;
    sums.values.resize(registers.size());
    for (std::size_t i = 0; i < registers.size(); ++i) {
      std::memcpy(&sums.values[i], registers[i], 4);
      std::memset(registers[i], 0xa5, 4);
    }
  }
  require(sums.registers == registers, "calls on some of the same sums");
  own.issued.push_back({Matrix::of(a, a_turned), Matrix::of(b, b_turned), columns, 32 / bytes, bytes, factors,
                        registers[0], follows_rules, false});
}

}  // namespace emulated_gpu

template <int leading, int stride, int swizzle>
unsigned long long matrix_at(const void* first) {
  using namespace emulated_gpu;
  const auto offset = static_cast<const unsigned char*>(first) - given_shared();
  require(offset >= 0 && offset < emulated_gpu_state.given_shared_bytes, "a matrix is outside of what the launch gave");
  const unsigned long long place = kSharedWindow + static_cast<unsigned long long>(offset);
  return (place & 0x3ffff) >> 4 | static_cast<unsigned long long>(leading >> 4) << 16 |
         static_cast<unsigned long long>(stride >> 4) << 32 |
         (swizzle == 128  ? 1ull
          : swizzle == 64 ? 2ull
                          : 3ull)
             << 62;
}
inline void arrive_for_calls() { emulated_gpu::own_groups().arrived = true; }
inline void commit_calls() {
  emulated_gpu::GroupState& own = emulated_gpu::own_groups();
  own.groups.push_back(std::exchange(own.issued, {}));
}
template <int but_last>
void wait_for_calls() {
  emulated_gpu::GroupState& own = emulated_gpu::own_groups();
  while (own.groups.size() > but_last) {
    for (emulated_gpu::GroupCall& call : own.groups.front()) emulated_gpu::carry_out(own, call);
    own.groups.pop_front();
  }
  own.arrived = false;
}
template <int count, typename T>
void hold_registers(T (&)[count]) {}

template <int columns, bool a_turned, bool b_turned, typename... C>
void wgmma_int8(unsigned long long a, unsigned long long b, C&... c) {
  emulated_gpu::issue(emulated_gpu::Factors::int8, 1, columns, a_turned, b_turned, a, b, c...);
}
template <int columns, bool a_turned, bool b_turned, typename... C>
void wgmma_uint8_int8(unsigned long long a, unsigned long long b, C&... c) {
  emulated_gpu::issue(emulated_gpu::Factors::uint8_int8, 1, columns, a_turned, b_turned, a, b, c...);
}
template <int columns, bool a_turned, bool b_turned, typename... C>
void wgmma_int8_uint8(unsigned long long a, unsigned long long b, C&... c) {
  emulated_gpu::issue(emulated_gpu::Factors::int8_uint8, 1, columns, a_turned, b_turned, a, b, c...);
}
template <int columns, bool a_turned, bool b_turned, typename... C>
void wgmma_float16(unsigned long long a, unsigned long long b, C&... c) {
  emulated_gpu::issue(emulated_gpu::Factors::float16, 2, columns, a_turned, b_turned, a, b, c...);
}
template <int columns, bool a_turned, bool b_turned, typename... C>
void wgmma_bfloat16(unsigned long long a, unsigned long long b, C&... c) {
  emulated_gpu::issue(emulated_gpu::Factors::bfloat16, 2, columns, a_turned, b_turned, a, b, c...);
}
template <int columns, bool a_turned, bool b_turned, typename... C>
void wgmma_tf32(unsigned long long a, unsigned long long b, C&... c) {
  emulated_gpu::issue(emulated_gpu::Factors::tf32, 4, columns, a_turned, b_turned, a, b, c...);
}
