#include "compiler/target/accel/programs/layout.h"

#include <algorithm>

#include <fmt/format.h>

namespace dovetail::accel {

std::string TensorLayout::index_map(std::int64_t element_block) const {
  if (element_block == block) return fmt::format("i0/{0},i1/{1},i2,i3,i0%{0},i1%{1}", batch, block);
  return fmt::format("i0/{0},i1/{1},i2,i3,i1/{2}%{3},i0%{0},i1%{2}", batch, block, element_block,
                     block / element_block);
}

std::string TensorLayout::text() const {
  if (rows > 0)
    return framed_layout({rows, c, 1, 1}, {{0, padded_w() * batch - rows}, {0, padded_c() - c}, {0, 0}, {0, 0}},
                         border_value, fmt::format("i1/{1},i2,i3,i0/{0},i0%{0},i1%{1}", batch, block));
  return framed_layout(
      folds.empty() ? Shape{n, c, h, w} : unfolded,
      {{0, padded_n() - n}, {0, padded_c() - c}, {border.top, border.bottom}, {border.left, border.right}},
      border_value, index_map(block), folds);
}

TensorLayout make_layout(const BlockSizes& sizes, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  TensorLayout layout;
  layout.n = n;
  layout.c = c;
  layout.h = h;
  layout.w = w;
  layout.batch = sizes.batch;
  layout.block = sizes.dram;
  return layout;
}

std::string weight_index_map(const BlockSizes& sizes, std::size_t dimensions) {
  std::string kernel;
  for (std::size_t d = 2; d < dimensions; ++d) kernel += fmt::format(",i{}", d);
  return fmt::format("i0/{0},i1/{1}{2},i0%{0},i1%{1}", sizes.block_out, sizes.block_in, kernel);
}

std::string parts_index_map(std::int64_t block) { return fmt::format("i1/{0},i2,i0,i1%{0}", block); }

TensorLayout fold_layout(TensorLayout layout, const std::vector<Layout::Fold>& folds) {
  Layout folded;
  folded.view = layout.unfolded = {layout.n, layout.c, layout.h, layout.w};
  folded.folds = layout.folds = folds;
  const Shape shape = folded.folded();
  layout.c = shape[1];
  layout.h = shape[2];
  layout.w = shape[3];
  return layout;
}

}  // namespace dovetail::accel
