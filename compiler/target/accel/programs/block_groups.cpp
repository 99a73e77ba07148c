#include "compiler/target/accel/programs/block_groups.h"

#include <algorithm>
#include <cstring>

#include "compiler/target/accel/programs/window_products.h"

namespace dovetail::accel {

std::int64_t block_groups(std::int64_t groups, const TensorLayout& x, const TensorLayout& y) {
  const std::int64_t inputs = x.c / groups, outputs = y.c / groups;  // of a group
  for (std::int64_t merged = std::min(x.padded_c() / x.block, y.padded_c() / y.block); merged > 1; --merged) {
    if (x.padded_c() / x.block % merged != 0 || y.padded_c() / y.block % merged != 0) continue;
    const std::int64_t block_inputs = x.padded_c() / merged, block_outputs = y.padded_c() / merged;
    if (block_inputs % inputs == 0 && block_outputs % outputs == 0 && block_inputs / inputs == block_outputs / outputs)
      return merged;
  }
  return 1;
}

bool is_uniform(const NdArray& weight, std::int64_t groups) {
  const auto values = weight.data<std::int8_t>();
  return groups > 1 && weight.shape()[0] == groups && weight.shape()[1] == 1 &&
         std::ranges::all_of(values, [&](std::int8_t value) { return value == values.front(); });
}

Shape weight_shape(const ConvSpec& spec) {
  if (spec.pushes > 0) return {spec.y.padded_c(), spec.x.block};
  const std::int64_t inputs = spec.x.padded_c() / spec.groups;
  if (spec.uniform_weights) return {spec.y.padded_c() / spec.groups, inputs, 1, 1};
  return {spec.y.padded_c(), inputs, spec.kernel_h, spec.kernel_w};
}

// Channels beyond the model's get zero weights, so that the values of padded inputs do not matter.
NdArray block_weights(const ConvSpec& spec, const NdArray& weight) {
  if (spec.pushes > 0) return window_weights(spec, weight);
  if (weight.shape() == weight_shape(spec)) return weight;
  NdArray blocks(DType::int8, weight_shape(spec));
  const Shape &shape = blocks.shape(), &own = weight.shape();
  const std::int64_t taps = shape[2] * shape[3], outputs = own[0] / (spec.x.c / own[1]);  // of a group
  for (std::int64_t o = 0; o < std::min(own[0], shape[0]); ++o) {
    const std::int64_t first = o / outputs * own[1] % shape[1];  // input channel, in the block group
    std::memcpy(blocks.bytes().data() + (o * shape[1] + first) * taps,
                weight.bytes().data() + o * own[1] * own[2] * own[3], static_cast<std::size_t>(own[1] * taps));
  }
  return blocks;
}

}  // namespace dovetail::accel
