#include "compiler/target/accel/layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/layout/layout.h"

namespace dovetail::accel {

std::string TensorLayout::index_map(std::int64_t element_block) const {
  if (element_block == block) return fmt::format("i0/{0},i1/{1},i2,i3,i0%{0},i1%{1}", batch, block);
  return fmt::format("i0/{0},i1/{1},i2,i3,i1/{2}%{3},i0%{0},i1%{2}", batch, block, element_block,
                     block / element_block);
}

std::string TensorLayout::text() const {
  return framed_layout(
      {n, c, h, w},
      {{0, padded_n() - n}, {0, padded_c() - c}, {border.top, border.bottom}, {border.left, border.right}},
      border_value, index_map(block));
}

TensorLayout make_layout(const isa::HardwareConfig& config, std::int64_t n, std::int64_t c, std::int64_t h,
                         std::int64_t w) {
  TensorLayout layout;
  layout.n = n;
  layout.c = c;
  layout.h = h;
  layout.w = w;
  layout.batch = config.batch;
  layout.block = std::max(config.block_in, config.block_out);
  return layout;
}

}  // namespace dovetail::accel
