// The part of CUDA C++ that the text of kernels (compiler/target/cuda/codegen) needs when it is compiled for this
// machine. The emulated compiler puts it before the text.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/emulated_gpu/state.h"

namespace emulated_gpu {

template <typename... P, std::size_t... i>
void call_with(void (*kernel)(P...), void** parameters, std::index_sequence<i...>) {
  kernel(*static_cast<P*>(parameters[i])...);
}
template <typename... P>
void call(void (*kernel)(P...), void** parameters) {
  call_with(kernel, parameters, std::index_sequence_for<P...>());
}
template <typename... P>
std::vector<std::size_t> sizes(void (*)(P...)) {
  return {sizeof(P)...};
}

}  // namespace emulated_gpu

extern "C" {
emulated_gpu::State emulated_gpu_state;
// Where the linker places the buffers that the threads of a block share.
extern char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));
char* emulated_gpu_shared_begin() { return __start_emulated_shared; }
char* emulated_gpu_shared_end() { return __stop_emulated_shared; }
}

#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("emulated_shared")))
#define threadIdx emulated_gpu_state.thread
#define blockIdx emulated_gpu_state.block

inline void __syncthreads() { emulated_gpu_state.barrier(); }
inline void __syncwarp() { emulated_gpu_state.meet_warp(); }
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance) {
  unsigned long long bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = emulated_gpu_state.shuffle(mask, bits, distance);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline unsigned atomicCAS(unsigned* place, unsigned compare, unsigned value) {
  const unsigned old = *place;
  if (old == compare) *place = value;
  return old;
}
