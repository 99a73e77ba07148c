// The rows of each operator file. compiler/ops/all.cpp lists them.
#pragma once

#include <vector>

#include "compiler/ops/op.h"

namespace dovetail::ops {

std::vector<OpDef> arg_reduce_ops();
std::vector<OpDef> attention_ops();
std::vector<OpDef> batch_normalization_ops();
std::vector<OpDef> binary_ops();
std::vector<OpDef> cast_ops();
std::vector<OpDef> concat_ops();
std::vector<OpDef> conv_ops();
std::vector<OpDef> depth_to_space_ops();
std::vector<OpDef> expand_ops();
std::vector<OpDef> fill_ops();
std::vector<OpDef> gather_ops();
std::vector<OpDef> gemm_ops();
std::vector<OpDef> global_pool_ops();
std::vector<OpDef> layer_normalization_ops();
std::vector<OpDef> lrn_ops();
std::vector<OpDef> matmul_ops();
std::vector<OpDef> pad_ops();
std::vector<OpDef> pool_ops();
std::vector<OpDef> qadd_ops();
std::vector<OpDef> qclip_ops();
std::vector<OpDef> qconv_ops();
std::vector<OpDef> qgemm_ops();
std::vector<OpDef> qmatmul_ops();
std::vector<OpDef> qmul_ops();
std::vector<OpDef> qtable_ops();
std::vector<OpDef> quantize_linear_ops();
std::vector<OpDef> recentre_ops();
std::vector<OpDef> reduce_ops();
std::vector<OpDef> reshape_ops();
std::vector<OpDef> resize_ops();
std::vector<OpDef> shape_ops();
std::vector<OpDef> slice_ops();
std::vector<OpDef> softmax_ops();
std::vector<OpDef> split_ops();
std::vector<OpDef> transpose_ops();
std::vector<OpDef> unary_ops();
std::vector<OpDef> variadic_ops();
std::vector<OpDef> weight_only_ops();
std::vector<OpDef> where_ops();

}  // namespace dovetail::ops
