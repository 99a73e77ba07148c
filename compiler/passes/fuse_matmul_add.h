// MatMul of two matrices and an Add of a row or a full matrix become one Gemm, which means the same.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> fuse_matmul_add(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes
