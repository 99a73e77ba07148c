// The list of the files that define operators: one line per file, sorted by name. A file defines the rows of its
// operators (op.h) in the function that its line names; all.cpp concatenates them.
#pragma once

#include <vector>

#include "compiler/ops/op.h"

// clang-format off
#define DOVETAIL_OPERATOR_FILES(ROWS) \
  ROWS(arg_reduce_ops)                \
  ROWS(attention_ops)                 \
  ROWS(batch_normalization_ops)       \
  ROWS(binary_ops)                    \
  ROWS(bounded_ops)                   \
  ROWS(cast_ops)                      \
  ROWS(center_crop_pad_ops)           \
  ROWS(col2im_ops)                    \
  ROWS(concat_ops)                    \
  ROWS(control_flow_ops)              \
  ROWS(conv_ops)                      \
  ROWS(conv_transpose_ops)            \
  ROWS(cumulative_ops)                \
  ROWS(deform_conv_ops)               \
  ROWS(depth_to_space_ops)            \
  ROWS(det_ops)                       \
  ROWS(einsum_ops)                    \
  ROWS(expand_ops)                    \
  ROWS(fill_ops)                      \
  ROWS(gather_ops)                    \
  ROWS(gemm_ops)                      \
  ROWS(global_pool_ops)               \
  ROWS(grid_sample_ops)               \
  ROWS(hardmax_ops)                   \
  ROWS(layer_normalization_ops)       \
  ROWS(lp_normalization_ops)          \
  ROWS(lrn_ops)                       \
  ROWS(matmul_ops)                    \
  ROWS(max_unpool_ops)                \
  ROWS(non_max_suppression_ops)       \
  ROWS(one_hot_ops)                   \
  ROWS(packed_gemm_ops)               \
  ROWS(pad_ops)                       \
  ROWS(pool_ops)                      \
  ROWS(qadd_ops)                      \
  ROWS(qclip_ops)                     \
  ROWS(qconv_ops)                     \
  ROWS(qgemm_ops)                     \
  ROWS(qmatmul_ops)                   \
  ROWS(qmul_ops)                      \
  ROWS(qnormalize_ops)                \
  ROWS(qsoftmax_ops)                  \
  ROWS(qtable_ops)                    \
  ROWS(quantize_linear_ops)           \
  ROWS(recenter_ops)                  \
  ROWS(recurrent_ops)                 \
  ROWS(reduce_ops)                    \
  ROWS(reshape_ops)                   \
  ROWS(resize_ops)                    \
  ROWS(reverse_sequence_ops)          \
  ROWS(roi_align_ops)                 \
  ROWS(rotary_embedding_ops)          \
  ROWS(scatter_ops)                   \
  ROWS(selection_ops)                 \
  ROWS(shape_ops)                     \
  ROWS(slice_ops)                     \
  ROWS(softmax_ops)                   \
  ROWS(split_ops)                     \
  ROWS(top_k_ops)                     \
  ROWS(transpose_ops)                 \
  ROWS(trilu_ops)                     \
  ROWS(unary_ops)                     \
  ROWS(variadic_ops)                  \
  ROWS(weight_only_ops)               \
  ROWS(where_ops)
// clang-format on

namespace dovetail::ops {

#define DOVETAIL_DECLARE(rows) std::vector<OpDef> rows();
DOVETAIL_OPERATOR_FILES(DOVETAIL_DECLARE)
#undef DOVETAIL_DECLARE

}  // namespace dovetail::ops
