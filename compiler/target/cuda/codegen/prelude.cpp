#include "compiler/target/cuda/codegen/source.h"

namespace dovetail::cuda {

// Functions without an execution space are device functions (NVRTC's --device-as-default-execution-space). Failure has
// the layout of bundle::CudaFailure.
std::string_view prelude() {
  return R"(#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 3  // NVRTC has the builtin since 12.3
template <typename To, typename From>
inline To bit_cast_to(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
#define __builtin_bit_cast(To, from) bit_cast_to<To>(from)
#endif
#include "loops/scalar/operations.h"
#include "compiler/target/cuda/codegen/instructions.cuh"
#include <group_products.cuh>

using namespace dovetail::loops;
using std::int8_t, std::uint8_t, std::int16_t, std::uint16_t;
using std::int32_t, std::uint32_t, std::int64_t, std::uint64_t;

// The first rule violated in a kernel, which continues with a harmless value.
struct Failure {
  unsigned claimed, site;
  long long value;
};
inline void report(unsigned site, Failure* failure, long long value) {
  if (atomicCAS(&failure->claimed, 0u, 1u) != 0u) return;
  failure->site = site;
  failure->value = value;
}
template <typename T>
int64_t checked_index(T index, int64_t extent, unsigned site, Failure* failure) {
  if (index >= 0 && uint64_t(index) < uint64_t(extent)) return int64_t(index);
  report(site, failure, (long long)index);
  return 0;
}
template <typename T>
T checked_divisor(T divisor, unsigned site, Failure* failure) {
  if (divisor != 0) return divisor;
  report(site, failure, 0);
  return 1;
}
template <typename T>
T checked_exponent(T base, T exponent, unsigned site, Failure* failure) {
  if (base != 0 || exponent >= 0) return exponent;
  report(site, failure, (long long)exponent);
  return 0;
}
// The value of the lane whose number differs in `distance`. All lanes of `mask` must call it.
template <typename T>
T shuffle_xor(unsigned mask, T value, int distance) {
  if constexpr (sizeof(T) < 4) return T(__shfl_xor_sync(mask, unsigned(value), distance));
  else return __shfl_xor_sync(mask, value, distance);
}

// Writes contiguous elements with one instruction: `to` must be aligned to their size.
template <typename T, int count>
struct alignas(sizeof(T) * count) Together {
  T elements[count];
};
template <typename E, int count>
void store_together(typename E::Mem* to, const typename E::Reg (&values)[count]) {
  if constexpr (is_half_element<E> && count % 2 == 0) {
    bool any_nan = false;
    for (int i = 0; i < count; ++i) any_nan |= values[i] != values[i];
    if (__builtin_expect(!any_nan, 1)) {
      Together<uint32_t, count / 2> together;
      for (int i = 0; i < count / 2; ++i) together.elements[i] = E::write_two(values[2 * i], values[2 * i + 1]);
      *reinterpret_cast<Together<uint32_t, count / 2>*>(to) = together;
      return;
    }
  }
  Together<typename E::Mem, count> together;
  for (int i = 0; i < count; ++i) together.elements[i] = E::write(values[i]);
  *reinterpret_cast<Together<typename E::Mem, count>*>(to) = together;
}

)";
}

}  // namespace dovetail::cuda
