// The pass fold_constants (list.h) for some of the nodes, and its limit.
#pragma once

#include "compiler/passes/list.h"

namespace dovetail::passes {

enum class FoldScope : std::uint8_t {
  everything,
  keep_dequantized,  // before lower_qdq, which must see that a weight is int8 after a DequantizeLinear
};

// A result with more bytes than this, and more than all its operands, is not folded: a network with ConstantOfShape
// weights would become gigabytes of constants that are not needed at compile time.
inline constexpr std::int64_t kFoldedBytesLimit = std::int64_t{1} << 26;

Result<PassOutcome> fold_constants(graph::Graph& graph, const PassContext& context, FoldScope scope);

}  // namespace dovetail::passes
