// Extends a convolution or matrix product, so that tiles of one size cover it: more rows and columns, whose results are
// not read, and more terms, whose weights are zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ndarray.h"
#include "loops/ir.h"

namespace dovetail::cpu {

// New extents of iterators, by their position in the block.
using Extents = std::map<std::size_t, std::int64_t>;

struct ExtendedProduct {
  loops::Program program;
  std::map<std::string, Shape> constants;  // enlarged constants by parameter, padded with zeros
};

// Extends iterators of block `main`. Other inputs than constants are padded with zeros: by block "pad" or "shifted" if
// that writes them, else by a new block "pad" that copies them. If the sums are a result of the program, a new block
// "result" copies them to it. nullopt if an iterator does not have its own loop, or if a sum would include products
// that are not made zero by a constant factor.
std::optional<ExtendedProduct> extend_product(const loops::Program& program, const std::string& main,
                                              const Extents& extents);

}  // namespace dovetail::cpu
