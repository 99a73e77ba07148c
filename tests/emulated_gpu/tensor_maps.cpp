// Tensor maps of the emulated driver, which refuses what NVIDIA's driver refuses (cuda.h, cuTensorMapEncodeTiled) and,
// in addition, tensors that are not in the device's memory.
#include <cstdint>
#include <cstring>

#include "tests/emulated_gpu/state.h"
#include "tests/emulated_gpu/stream.h"

extern "C" {

int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const unsigned long long* extents,
                           const unsigned long long* strides, const unsigned* box, const unsigned* steps,
                           int interleave, int swizzle, int promotion, int fill) {
  using emulated_gpu::EncodedTensor;
  constexpr int kInvalidValue = 1;
  constexpr unsigned short kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2}, kSwizzles[] = {0, 32, 64, 128};
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0 || type < 0 || type > 9 || rank == 0 ||
      rank > EncodedTensor::kMostRank || reinterpret_cast<std::uintptr_t>(address) % 16 != 0 || interleave != 0 ||
      swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 || fill != 0)
    return kInvalidValue;
  EncodedTensor made;
  made.made = EncodedTensor::kMade;
  made.first = static_cast<const unsigned char*>(address);
  made.rank = static_cast<unsigned short>(rank);
  made.bytes = kBytes[type];
  made.swizzle = kSwizzles[swizzle];
  std::uint64_t last = 0;
  for (unsigned d = 0; d < rank; ++d) {
    made.strides[d] = d == 0 ? made.bytes : strides[d - 1];
    if (extents[d] == 0 || extents[d] > std::uint64_t{1} << 31 || box[d] == 0 || box[d] > 256 || steps[d] != 1 ||
        (d > 0 && (made.strides[d] % 16 != 0 || made.strides[d] >= std::uint64_t{1} << 40)))
      return kInvalidValue;
    made.extents[d] = static_cast<unsigned>(extents[d]);
    made.box[d] = static_cast<unsigned short>(box[d]);
    last += (extents[d] - 1) * made.strides[d];
  }
  const unsigned line = box[0] * made.bytes;
  if (line % 16 != 0 || (made.swizzle != 0 && line > made.swizzle)) return kInvalidValue;
  if (emulated_gpu_room(reinterpret_cast<std::uintptr_t>(address)) < last + made.bytes) return kInvalidValue;
  std::memset(map, 0, 128);
  std::memcpy(map, &made, sizeof made);
  return 0;
}
}
