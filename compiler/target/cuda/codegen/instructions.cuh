// Instructions that CUDA C++ has no words for, as PTX (https://docs.nvidia.com/cuda/parallel-thread-execution).
// tests/emulated_gpu/instructions.h has the same functions for the machine that tests run on.
#pragma once

// ---- Asynchronous copies, from the device's memory to a block's shared one: sm_80 and later

// 4, 8 or 16 bytes, at multiples of as many; zeros where `inside` does not hold, and then nothing is read.
template <int bytes>
inline void copy_async(void* to, const void* from, bool inside) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  const unsigned long long source = __cvta_generic_to_global(from);
  const int read = inside ? bytes : 0;
  // What is 16 bytes wide passes by the first level of the cache: no other block of the processor reads it soon.
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(source), "r"(read) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(source), "n"(bytes), "r"(read)
                 : "memory");
}
template <int bytes>
inline void copy_async(void* to, const void* from) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  const unsigned long long source = __cvta_generic_to_global(from);
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(source) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(source), "n"(bytes) : "memory");
}
// What the thread has started since the last commit is a group.
inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All groups of the thread but the last ones have landed.
template <int but_last>
inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(but_last) : "memory");
}
