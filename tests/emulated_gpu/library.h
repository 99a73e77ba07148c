// Shared by the emulated cuBLAS and cuDNN: elements of the device's memory, and the driver whose stream they work on.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include <dlfcn.h>

#include "base/float16_bits.h"

namespace emulated_gpu {

// EMULATED_GPU_PLANT names one kind of fault: the library acts as if the kit had passed that wrong argument.
inline bool is_planted(const char* fault) {
  const char* const text = std::getenv("EMULATED_GPU_PLANT");
  return text != nullptr && std::strcmp(text, fault) == 0;
}

struct Driver {
  int (*enqueue)(void* stream, const std::function<void()>* work) = nullptr;
  std::size_t (*room)(unsigned long long address) = nullptr;
  bool (*breaks_capture)() = nullptr;

  static const Driver& get() {
    static const Driver driver = [] {
      Driver found;
      const char* const path = std::getenv("DOVETAIL_LIBCUDA");
      void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) return found;
      found.enqueue = reinterpret_cast<decltype(found.enqueue)>(dlsym(library, "emulated_gpu_enqueue"));
      found.room = reinterpret_cast<decltype(found.room)>(dlsym(library, "emulated_gpu_room"));
      found.breaks_capture =
          reinterpret_cast<decltype(found.breaks_capture)>(dlsym(library, "emulated_gpu_breaks_capture"));
      return found;
    }();
    return driver;
  }
  bool holds(const void* address, std::size_t bytes) const {
    return address != nullptr && room(reinterpret_cast<std::uintptr_t>(address)) >= bytes;
  }
};

enum class Element : std::uint8_t { float32, float16, bfloat16, int8, int32 };

inline std::size_t bytes_of(Element element) {
  return element == Element::int8 ? 1 : element == Element::float16 || element == Element::bfloat16 ? 2 : 4;
}
template <typename T>
T read(const void* base, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}
template <typename T>
void write(void* base, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(base) + index * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
}
inline double load(Element element, const void* base, std::int64_t index) {
  switch (element) {
    case Element::float32: return read<float>(base, index);
    case Element::float16: return dovetail::float16_bits::from_float16(read<std::uint16_t>(base, index));
    case Element::bfloat16: return dovetail::float16_bits::from_bfloat16(read<std::uint16_t>(base, index));
    case Element::int8: return read<std::int8_t>(base, index);
    case Element::int32: return read<std::int32_t>(base, index);
  }
  return 0;
}
inline void store(Element element, void* base, std::int64_t index, double value) {
  const auto single = static_cast<float>(value);
  switch (element) {
    case Element::float32: return write(base, index, single);
    case Element::float16: return write(base, index, dovetail::float16_bits::to_float16(single));
    case Element::bfloat16: return write(base, index, dovetail::float16_bits::to_bfloat16(single));
    case Element::int8: return write(base, index, static_cast<std::int8_t>(value));
    case Element::int32: return write(base, index, static_cast<std::int32_t>(static_cast<std::int64_t>(value)));
  }
}
// Rounds a float32 as a tensor core does: to 10 bits of fraction.
inline double as_tf32(double value) {
  const std::uint32_t bits = dovetail::float16_bits::bits_of(static_cast<float>(value));
  return dovetail::float16_bits::float_of((bits + 0x1000U) & ~0x1fffU);
}

}  // namespace emulated_gpu
