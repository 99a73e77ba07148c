// Instructions without CUDA C++ equivalents, as PTX (https://docs.nvidia.com/cuda/parallel-thread-execution).
// tests/emulated_gpu/instructions.h has the same functions for the machine that tests run on.
#pragma once

// The address, known to be aligned to this many bytes, so that loads and stores of neighbors are combined.
template <int bytes, typename T>
inline T* aligned(T* address) {
  return static_cast<T*>(__builtin_assume_aligned(address, bytes));
}

// The shared memory that the launch gave the block.
inline unsigned char* given_shared() {
  extern __shared__ __align__(1024) unsigned char shared_bytes[];
  return shared_bytes;
}

// ---- Asynchronous copies from the device's memory to a block's shared memory: sm_80 and later

// Copies 4, 8 or 16 bytes with that alignment; if `inside` is false, writes zeros without reading.
template <int bytes>
inline void copy_async(void* to, const void* from, bool inside) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  const unsigned long long source = __cvta_generic_to_global(from);
  const int read = inside ? bytes : 0;
  // 16-byte copies bypass the first-level cache: no other block of the processor reads the data soon.
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
// Closes the group of copies that the thread has started since the last commit.
inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until all groups of the thread except the last ones have completed.
template <int but_last>
inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(but_last) : "memory");
}

// ---- Copies of boxes of tensors from the device's memory to a block's shared memory, by a separate unit: sm_90 and
// later. A signal counts arriving bytes: an mbarrier, at which one thread arrives in each phase.

// A tensor and a box of it, encoded by the driver (CUtensorMap).
struct alignas(128) TensorMap {
  unsigned long long words[16];
};
inline void start_signal(void* signal) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(signal);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place) : "memory");
}
inline void expect_bytes(void* signal, int bytes) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(signal);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place), "r"(bytes) : "memory");
}
// Waits until the phase with that parity has ended.
inline void wait_for_signal(void* signal, int parity) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(signal);
  unsigned ended;
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(ended)
                 : "r"(place), "r"(parity)
                 : "memory");
  } while (ended == 0);
}
// The box from that element on, innermost dimension first; elements outside the tensor are zero.
inline void copy_box(void* to, const TensorMap* map, void* signal, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"((unsigned)__cvta_generic_to_shared(to)),
      "l"(map), "r"((unsigned)__cvta_generic_to_shared(signal)), "r"(x), "r"(y)
      : "memory");
}
inline void copy_box(void* to, const TensorMap* map, void* signal, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"((unsigned)__cvta_generic_to_shared(to)),
      "l"(map), "r"((unsigned)__cvta_generic_to_shared(signal)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
inline void copy_box(void* to, const TensorMap* map, void* signal, int x, int y, int z, int u) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"((unsigned)__cvta_generic_to_shared(to)),
      "l"(map), "r"((unsigned)__cvta_generic_to_shared(signal)), "r"(x), "r"(y), "r"(z), "r"(u)
      : "memory");
}
inline void copy_box(void* to, const TensorMap* map, void* signal, int x, int y, int z, int u, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, "
      "%7}], [%2];" ::"r"((unsigned)__cvta_generic_to_shared(to)),
      "l"(map), "r"((unsigned)__cvta_generic_to_shared(signal)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
      : "memory");
}

// ---- Operations of warps: sm_80 and later

// 32 bits: contiguous and aligned to four bytes, or of separate elements; the first is in the lowest bits.
inline unsigned load_register(const void* place) { return *static_cast<const unsigned*>(place); }
inline unsigned pack_register(unsigned short a, unsigned short b) { return a | (unsigned)b << 16; }
inline unsigned pack_register(signed char a, signed char b, signed char c, signed char d) {
  return (unsigned char)a | (unsigned)(unsigned char)b << 8 | (unsigned)(unsigned char)c << 16 |
         (unsigned)(unsigned char)d << 24;
}

// A value that becomes available after a barrier: reads of shared memory that depend on it cannot be moved before the
// barrier.
inline unsigned after_barrier() {
  unsigned value;
  asm volatile("mov.u32 %0, 0;" : "=r"(value)::"memory");
  return value;
}
// Loads four or two matrices of 8 rows of 16 bytes: ldmatrix. Lane l gives the address of row l % 8 of matrix l / 8,
// and receives, of each matrix, four bytes of row l / 4; `turned`: the halves at column l / 4 of rows l % 4 * 2 and the
// next one. Not volatile, so that operands of several products are loaded once; `behind` keeps it after the previous
// barrier.
template <bool turned>
inline void load_matrices(unsigned (&r)[4], const void* row, unsigned after) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(row);
  if constexpr (turned)
    asm("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4]; /* %5 */"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(place), "r"(after));
  else
    asm("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4]; /* %5 */"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(place), "r"(after));
}
template <bool turned>
inline void load_matrices(unsigned (&r)[2], const void* row, unsigned after) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(row);
  if constexpr (turned)
    asm("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2]; /* %3 */"
        : "=r"(r[0]), "=r"(r[1])
        : "r"(place), "r"(after));
  else
    asm("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2]; /* %3 */"
        : "=r"(r[0]), "=r"(r[1])
        : "r"(place), "r"(after));
}

// 16 x 8 sums of as many products as 32 bytes of factors hold: mma.sync.
inline void mma_float16(float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                        unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
inline void mma_bfloat16(float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                         unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
#define DOVETAIL_MMA_OF_BYTES(name, types)                                                                       \
  inline void mma_##name(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, \
                         unsigned b0, unsigned b1) {                                                             \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." types                                                  \
                 ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                          \
                 : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)                                                        \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));                                        \
  }
DOVETAIL_MMA_OF_BYTES(int8, "s8.s8")
DOVETAIL_MMA_OF_BYTES(uint8_int8, "u8.s8")
DOVETAIL_MMA_OF_BYTES(int8_uint8, "s8.u8")
#undef DOVETAIL_MMA_OF_BYTES
// For float32: each factor is rounded to the nearest value with 11 bits.
inline unsigned rounded_to_tf32(unsigned bits) {
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
  return rounded;
}
inline void mma_tf32(float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                     unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(rounded_to_tf32(a0)), "r"(rounded_to_tf32(a1)), "r"(rounded_to_tf32(a2)), "r"(rounded_to_tf32(a3)),
        "r"(rounded_to_tf32(b0)), "r"(rounded_to_tf32(b1)));
}

// ---- Asynchronous operations of four warps: sm_90a. group_products.cuh has the products.

// Makes the thread's writes to shared memory visible to asynchronous units, after a barrier.
inline void fence_for_units() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Makes the thread's writes to the registers of sums visible to its following calls.
inline void arrive_for_calls() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline void commit_calls() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until all groups of its calls except the last ones are done.
template <int but_last>
inline void wait_for_calls() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(but_last) : "memory");
}
// Stops the compiler from moving accesses of these registers: it does not know that they change asynchronously.
template <int count>
inline void hold_registers(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
template <int count>
inline void hold_registers(int (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}
// A matrix in shared memory from its first element on (loops/core/core.h, CoreMatrix): PTX's matrix descriptor, in
// units of 16 bytes.
template <int leading, int stride, int swizzle>
inline unsigned long long matrix_at(const void* first) {
  constexpr unsigned long long kMode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  const unsigned place = (unsigned)__cvta_generic_to_shared(first);
  return (place & 0x3ffffu) >> 4 | (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32 |
         kMode << 62;
}
