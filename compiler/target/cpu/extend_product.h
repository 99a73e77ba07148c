// A convolution or matrix product over more than it has, so that tiles of one size cover it: more rows and columns,
// whose results nothing reads, and more to sum over, where the weights are zeros.
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
  std::map<std::string, Shape> constants;  // that are larger, by parameter; they hold zeros where they held nothing
};

// Extends iterators of block `main`. What it reads of other buffers than constants is filled up with zeros: where block
// "pad" writes it that does so, else a new block of that name copies it. nullopt where an iterator is not fed by a loop
// of its own, where a result of the program would grow, or where a sum would run over more products than a constant,
// itself a factor, makes zero.
std::optional<ExtendedProduct> extend_product(const loops::Program& program, const std::string& main,
                                              const Extents& extents);

}  // namespace dovetail::cpu
