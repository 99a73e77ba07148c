// Convolutions that do not multiply their padding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loops/ir.h"

namespace dovetail::cpu {

struct SkippedPadding {
  loops::Program program;
  double share = 0;  // of the products: those that are left out
};

// Block `main` sums products of elements that block "pad" writes, zeros where its condition does not hold: there the
// rewritten block adds 0 instead of a product, which decompose_reduction makes a predicate. nullopt where the padding
// is no zero, where no product is left out, or where the blocks have another form. Precondition: the other factor is
// finite, so that its product with 0 is 0; sums that start at +0 keep every bit.
std::optional<SkippedPadding> skip_padding(const loops::Program& program, const std::string& main);

}  // namespace dovetail::cpu
