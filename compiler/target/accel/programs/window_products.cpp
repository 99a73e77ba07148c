#include "compiler/target/accel/programs/window_products.h"

#include <algorithm>

#include "compiler/target/accel/programs/block_groups.h"

namespace dovetail::accel {

std::int64_t window_pushes(const ConvSpec& spec, const NdArray& weight, std::int64_t channels, std::int64_t rows,
                           const isa::HardwareConfig& config) {
  const std::int64_t taps = spec.kernel_h * spec.kernel_w;
  const bool depthwise = weight.shape()[0] == channels && weight.shape()[1] == 1 && channels > 1;
  if (!config.window || !depthwise || spec.dilation_h != 1 || spec.dilation_w != 1 || taps == 1 ||
      taps > config.block_in)
    return 0;
  if (spec.kernel_w == 1) return spec.kernel_h;
  const std::int64_t most = (config.block_in / spec.kernel_w - spec.kernel_h) / spec.stride_h + 1;
  return (std::min(rows, most) - 1) * spec.stride_h + spec.kernel_h;
}

NdArray window_weights(const ConvSpec& spec, const NdArray& weight) {
  NdArray taps(DType::int8, weight_shape(spec));
  const std::int64_t of_channel = taps.shape()[1];
  for (std::int64_t o = 0; o < weight.shape()[0]; ++o)
    for (std::int64_t row = 0; row < spec.kernel_h; ++row)
      for (std::int64_t column = 0; column < spec.kernel_w; ++column)
        taps.set_int64(o * of_channel + column * spec.pushes + row,
                       weight.as_int64((o * spec.kernel_h + row) * spec.kernel_w + column));
  return taps;
}

}  // namespace dovetail::accel
