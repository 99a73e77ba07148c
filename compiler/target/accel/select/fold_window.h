// A convolution of few channels leaves most of a channel block idle: of 3 channels in blocks of 16, 13 rows of every
// product are padding. Kernel columns, or rows, or both, become channels of its input instead: a 7x7 kernel over 3
// channels reads 49 blocks a result, one of 7x1 over 21 channels 14, one of 1x1 over 147 channels 10. The input is
// stored folded in DRAM (Layout::Fold), so this is used for values that the host packs anyway.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/select/select.h"

namespace dovetail::accel {

// The same operation with the folds that need the fewest cycles: the maximum of GEMM steps and of loading the folded
// input and the weights. nullopt if no fold is faster than the operation without folds, it is not a convolution, or it
// has groups. Precondition: it has no folds.
std::optional<Operation> fold_window(const graph::Graph& graph, const Operation& operation, const Core& config);

}  // namespace dovetail::accel
