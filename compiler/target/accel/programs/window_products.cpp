#include "compiler/target/accel/programs/window_products.h"

#include <algorithm>

#include "compiler/target/accel/programs/block_groups.h"
#include "compiler/target/accel/programs/intrinsics.h"

namespace dovetail::accel {

std::int64_t window_pushes(const ConvSpec& spec, const NdArray& weight, std::int64_t channels, std::int64_t rows,
                           const Core& config) {
  const std::int64_t taps = spec.kernel_h * spec.kernel_w, most_uops = most_kernel_uops(config);
  const bool depthwise = weight.shape()[0] == channels && weight.shape()[1] == 1 && channels > 1;
  if (!config.window || !config.has_own_blocks() || !depthwise || spec.dilation_h != 1 || spec.dilation_w != 1 ||
      taps == 1 || taps > std::min(config.block_in, most_uops))
    return 0;
  if (spec.kernel_w == 1) return spec.kernel_h;
  // The last tap is (kernel_w - 1) * pushes + kernel_h - 1, and a column of results has a micro-op for each push.
  const std::int64_t fitting =
                         std::min((config.block_in - spec.kernel_h) / (spec.kernel_w - 1), most_uops / spec.kernel_w),
                     most = std::min(rows, (fitting - spec.kernel_h) / spec.stride_h + 1);
  const auto pushes = [&](std::int64_t stripe) { return (stripe - 1) * spec.stride_h + spec.kernel_h; };
  std::int64_t best = 1;
  for (std::int64_t stripe = 2; stripe <= most; ++stripe) {
    const auto steps = [&](std::int64_t of) { return (rows + of - 1) / of * pushes(of); };
    if (steps(stripe) < steps(best)) best = stripe;
  }
  return pushes(best);
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
