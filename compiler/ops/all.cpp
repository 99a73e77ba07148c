// The list of all operators: one line per file.
#include <algorithm>
#include <iterator>

#include "compiler/ops/families.h"
#include "compiler/ops/op.h"

namespace dovetail::ops {
namespace {

constexpr std::vector<OpDef> (*kFiles[])() = {
    arg_reduce_ops,
    attention_ops,
    batch_normalization_ops,
    binary_ops,
    cast_ops,
    concat_ops,
    conv_ops,
    depth_to_space_ops,
    expand_ops,
    fill_ops,
    gather_ops,
    gemm_ops,
    global_pool_ops,
    layer_normalization_ops,
    lrn_ops,
    matmul_ops,
    pad_ops,
    pool_ops,
    qadd_ops,
    qclip_ops,
    qconv_ops,
    qgemm_ops,
    qmatmul_ops,
    qmul_ops,
    qtable_ops,
    quantize_linear_ops,
    recentre_ops,
    reduce_ops,
    reshape_ops,
    resize_ops,
    shape_ops,
    slice_ops,
    softmax_ops,
    split_ops,
    transpose_ops,
    unary_ops,
    variadic_ops,
    weight_only_ops,
    where_ops,
};

std::vector<OpDef> sorted_rows() {
  std::vector<OpDef> rows;
  for (const auto file : kFiles) std::ranges::move(file(), std::back_inserter(rows));
  std::ranges::sort(rows, {}, &OpDef::op);
  for (std::size_t i = 1; i < rows.size(); ++i) DOVETAIL_CHECK(rows[i - 1].op != rows[i].op, std::string(rows[i].op));
  return rows;
}

}  // namespace

std::span<const OpDef> all() {
  static const std::vector<OpDef> rows = sorted_rows();
  return rows;
}

}  // namespace dovetail::ops
