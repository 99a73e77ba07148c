// Tensors of which kernels copy boxes (bundle::CudaTensorMap), in the driver's encoding for the device.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "bundle/code/cuda.h"
#include "runtime/device/cuda/driver.h"

namespace dovetail::runtime::cuda {

// A kernel parameter: CUtensorMap.
struct alignas(128) EncodedTensorMap {
  std::uint64_t words[16] = {};
};

// `address`: of the tensor's first element, a multiple of 16. Error: the driver does not support tensor maps, or
// rejects this one.
Result<void> encode(const Driver& driver, const bundle::CudaTensorMap& map, Address address, EncodedTensorMap& encoded);

}  // namespace dovetail::runtime::cuda
