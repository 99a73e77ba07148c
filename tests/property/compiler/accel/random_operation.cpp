#include "tests/property/compiler/accel/random_operation.h"

#include <optional>

#include "compiler/target/accel/programs/block_groups.h"
#include "compiler/target/accel/programs/programs.h"
#include "compiler/target/accel/programs/window_maximum.h"

namespace dovetail::accel {

namespace {

Epilogue draw_epilogue(SplitMix64& random, const isa::HardwareConfig& config) {
  Epilogue epilogue;
  epilogue.saturate = config.saturate;
  if (config.requant) return epilogue;
  epilogue.form = Epilogue::Form::fixed_point;
  epilogue.fixed_point = {.limbs = static_cast<int>(random.next() % 4),
                          .ties = random.next() % 2 == 0,
                          .shifts = random.next() % 4 != 0,
                          .clamps = random.next() % 4 == 0,
                          .zero_point = static_cast<std::int32_t>(random.next() % 2),
                          .common = std::nullopt};
  return epilogue;
}

}  // namespace

RandomOperation random_operation(SplitMix64& random, const isa::HardwareConfig& config) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(high - low + 1));
  };
  const std::int64_t groups = between(0, 1) == 0 ? 1 : between(2, 20);
  const std::int64_t n = between(1, 3), c = groups * between(1, groups == 1 ? 40 : 9),
                     o = groups * between(1, groups == 1 ? 40 : 9), kernel = between(1, 3), stride = between(1, 2),
                     dilation = between(1, 2), pad = between(0, 1);
  const std::int64_t h = between(5, 12), w = between(5, 12);
  const auto output = [&](std::int64_t extent) {
    return (extent + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  };
  const TensorLayout x = make_layout(config, n, c, h, w);
  const Widening widening = random.next() % 2 == 0 ? Widening::gemm : Widening::load;
  const auto add_spec = [&](const TensorLayout& layout) {
    AddSpec spec;
    spec.name = "add";
    spec.widening = widening;
    spec.a = spec.b = spec.y = layout;
    spec.a_multiplier = {1, 5, 4};
    if (random.next() % 2 == 0) spec.a_factor = static_cast<std::int32_t>(between(1, 127)), spec.b_factor = -3;
    spec.epilogue = draw_epilogue(random, config);
    return spec;
  };
  switch ((random.next() % 4)) {
    case 0: {
      ConvSpec spec;
      spec.name = "conv";
      spec.x = x;
      spec.y = make_layout(config, n, o, output(h), output(w));
      spec.kernel_h = spec.kernel_w = kernel;
      spec.stride_h = spec.stride_w = stride;
      spec.dilation_h = spec.dilation_w = dilation;
      spec.pad_top = spec.pad_left = pad;
      spec.groups = block_groups(groups, spec.x, spec.y);
      spec.uniform_weights = groups > 1 && c == groups && o == groups && between(0, 1) == 0;
      spec.pads_in_load = pad > 0 && (random.next() % 2) == 0;
      if (pad > 0 && !spec.pads_in_load) spec.x.border = {pad, pad, pad, pad};
      spec.epilogue = draw_epilogue(random, config);
      if (random.next() % 2 == 0) return {&kConvolution, conv_program(spec, config)};
      if (random.next() % 2 == 0) {
        MaxPoolSpec pooling;
        pooling.x = pooling.y = spec.y;
        pooling.kernel_h = between(1, 3), pooling.kernel_w = between(2, 3);
        pooling.stride_h = between((pooling.kernel_h + 2) / 2, 3), pooling.stride_w = 2;
        pooling.pad_top = between(0, pooling.kernel_h / 2), pooling.pad_left = between(0, pooling.kernel_w / 2);
        const auto results = [](std::int64_t extent, std::int64_t pads, std::int64_t window, std::int64_t step) {
          return extent + pads < window ? 0 : (extent + pads - window) / step + 1;
        };
        pooling.y.h = results(spec.y.h, pooling.pad_top, pooling.kernel_h, pooling.stride_h);
        pooling.y.w = results(spec.y.w, 2 * pooling.pad_left, pooling.kernel_w, pooling.stride_w);
        if (pooling.y.h > 0 && pooling.y.w > 0 && is_separable(pooling) && reduces_in_place(pooling)) {
          spec.y = pooling.y;
          return {&kConvolution, conv_program(spec, config, nullptr, &pooling)};
        }
      }
      const AddSpec addition = add_spec(spec.y);
      return {&kConvolution, conv_program(spec, config, &addition)};
    }
    case 1: return {&kAddition, add_program(add_spec(x), config)};
    case 2: {
      ProductSpec spec;
      spec.name = "product";
      spec.a = spec.b = spec.y = x;
      spec.widening = widening;
      spec.vector_b = random.next() % 2 == 0;
      if (spec.vector_b) spec.b = make_layout(config, n, c, 1, 1);
      spec.epilogue = draw_epilogue(random, config);
      return {&kAddition, product_program(spec, config)};
    }
    default: {
      MaxPoolSpec spec;
      spec.name = "pool";
      spec.widening = widening;
      spec.x = x;
      spec.y = make_layout(config, n, c, output(h), output(w));
      spec.kernel_h = 2, spec.kernel_w = kernel;
      spec.y.h = (h - 1 - dilation + 2 * pad) / stride + 1;
      spec.stride_h = spec.stride_w = stride;
      spec.dilation_h = spec.dilation_w = dilation;
      spec.pad_top = spec.pad_left = pad;
      spec.separable = widening == Widening::gemm && is_separable(spec);
      if (spec.separable) spec.x.border = {pad, pad, pad + stride, pad + stride};
      return {&kMaxPooling, max_pool_program(spec, config)};
    }
  }
}

}  // namespace dovetail::accel
