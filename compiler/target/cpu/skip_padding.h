// Convolutions that skip the products with their padding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loops/ir.h"

namespace dovetail::cpu {

// The longest window, in elements along a dimension, whose padding is skipped: at borders its elements are unrolled for
// each pixel of a register tile.
inline constexpr std::int64_t kLongestSkippingWindow = 32;

struct SkippedPadding {
  loops::Program program;
  double share = 0;  // share of skipped products
};

// Block `main` sums products of elements that block "pad" writes, which are zeros where its condition is false: there,
// the rewritten block adds 0 instead of a product, which decompose_reduction turns into a predicate. nullopt if the
// padding is not zero, if no product is skipped, or if the blocks have another form. Precondition: the other factor is
// finite, so that its product with 0 is 0; sums that start at +0 are bit-identical.
std::optional<SkippedPadding> skip_padding(const loops::Program& program, const std::string& main);

}  // namespace dovetail::cpu
