#include "runtime/device/cuda/tensor_maps.h"

#include <array>
#include <vector>

namespace dovetail::runtime::cuda {

Result<void> encode(const Driver& driver, const bundle::CudaTensorMap& map, Address address,
                    EncodedTensorMap& encoded) {
  if (driver.encode_tensor_map == nullptr)
    return Diagnostic{"cannot run on the GPU", "driver",
                      "the model's kernels copy tensor tiles, which drivers older than CUDA 12.0 do not support",
                      "update the driver, or compile for an older architecture: --gpu sm_80"};
  // CUtensorMapDataType: elements are moved as unsigned integers, because zero has the same bits in every type.
  constexpr int kUint8 = 0, kUint16 = 1, kUint32 = 2, kUint64 = 4;
  constexpr int kNoInterleave = 0, kPromotionOf128Bytes = 2, kZeros = 0;
  const int type = map.element_bytes == 1   ? kUint8
                   : map.element_bytes == 2 ? kUint16
                   : map.element_bytes == 4 ? kUint32
                                            : kUint64;
  // CUtensorMapSwizzle
  const int swizzle = map.swizzle_bytes == 128 ? 3 : map.swizzle_bytes == 64 ? 2 : map.swizzle_bytes == 32 ? 1 : 0;
  const std::vector<unsigned long long> extents(map.extents.rbegin(), map.extents.rend());
  const std::vector<unsigned> box(map.box.rbegin(), map.box.rend()), steps(map.box.size(), 1);
  std::vector<unsigned long long> strides;  // of all dimensions except the innermost, in bytes
  unsigned long long stride = map.element_bytes;
  for (std::size_t d = 0; d + 1 < extents.size(); ++d) strides.push_back(stride *= extents[d]);
  return driver.check(
      driver.encode_tensor_map(&encoded, type, static_cast<unsigned>(extents.size()), reinterpret_cast<void*>(address),
                               extents.data(), strides.data(), box.data(), steps.data(), kNoInterleave, swizzle,
                               kPromotionOf128Bytes, kZeros),
      "describing a tensor of which a kernel copies boxes");
}

}  // namespace dovetail::runtime::cuda
