// The functions of compiler/target/cuda/codegen/instructions.cuh on this machine. A copy arrives when it starts, when
// it is waited for, or when its thread next starts or commits one: a sequence of pseudo-random numbers decides. Until
// then its destination holds a pattern, so that a read that comes too early finds the pattern; a destination that is
// reused too early is overwritten by the copy.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "tests/emulated_gpu/state.h"

namespace emulated_gpu {

struct Flight {
  char* to;
  const char* from;  // null: zeros
  int bytes;
  bool landed;
};
struct Copies {
  std::vector<Flight> started;
  std::deque<std::vector<Flight>> groups;
};

inline void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "the emulated GPU: %s\n", rule);
  std::abort();
}
inline void land(Flight& flight) {
  if (flight.landed) return;
  flight.landed = true;
  if (flight.from != nullptr) std::memcpy(flight.to, flight.from, static_cast<std::size_t>(flight.bytes));
  else std::memset(flight.to, 0, static_cast<std::size_t>(flight.bytes));
}
inline unsigned below(unsigned count) {
  static std::uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<unsigned>(state >> 33) % count;
}

// Copies of the running thread. The threads of each block begin with no copy started.
inline Copies& own_copies() {
  static std::map<unsigned, Copies> by_thread;
  static std::uint64_t block = 0;  // blocks are counted from 1
  const State& s = emulated_gpu_state;
  if (block != s.blocks_begun) by_thread.clear();
  block = s.blocks_begun;
  return by_thread[s.thread.x + s.block_extent.x * (s.thread.y + s.block_extent.y * s.thread.z)];
}

inline void start(void* to, const void* from, int bytes) {
  const auto aligned = [&](const void* place) {
    return reinterpret_cast<std::uintptr_t>(place) % static_cast<unsigned>(bytes) == 0;
  };
  require(aligned(to) && (from == nullptr || aligned(from)), "an asynchronous copy is at no multiple of its bytes");
  Flight flight{static_cast<char*>(to), static_cast<const char*>(from), bytes, false};
  std::memset(to, 0xa5, static_cast<std::size_t>(bytes));
  if (below(3) == 0) land(flight);
  Copies& copies = own_copies();
  copies.started.push_back(flight);
  for (auto& group : copies.groups)
    for (Flight& other : group)
      if (below(8) == 0) land(other);
}

}  // namespace emulated_gpu

template <int bytes, typename T>
T* aligned(T* address) {
  emulated_gpu::require(reinterpret_cast<std::uintptr_t>(address) % bytes == 0, "a tensor begins at no multiple of 64");
  return address;
}
inline unsigned char* given_shared() {
  emulated_gpu::require(emulated_gpu_state.given_shared != nullptr, "a launch gives no shared memory");
  return emulated_gpu_state.given_shared;
}
template <int bytes>
void copy_async(void* to, const void* from, bool inside = true) {
  emulated_gpu::start(to, inside ? from : nullptr, bytes);
}
inline void commit_copies() {
  emulated_gpu::Copies& copies = emulated_gpu::own_copies();
  copies.groups.push_back(std::move(copies.started));
  copies.started.clear();
}
template <int but_last>
void wait_for_copies() {
  emulated_gpu::Copies& copies = emulated_gpu::own_copies();
  while (copies.groups.size() > but_last) {
    for (emulated_gpu::Flight& flight : copies.groups.front()) emulated_gpu::land(flight);
    copies.groups.pop_front();
  }
}
