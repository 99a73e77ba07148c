// Contractions: reductions that sum products of two factors. Matrix products, convolutions and many einsums are
// contractions, whatever the operator's name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

// s[...] = s[...] + left * right, with s[...] = 0 at first. Iterators are listed by position in the block, in order:
// those that index both factors, only `left`, only `right`, and those that are summed over. Of the result's dimensions
// that belong to one factor only, the innermost belongs to `right`. Rows and columns have at most two iterators of more
// than one value each, so that the elements that a tile stores can be derived; earlier ones, such as the images of a
// convolution, count as batch.
struct Contraction {
  struct Factor {
    loops::Expr stored;              // the factor, without the final widening conversion
    DType type;                      // type of the product
    std::vector<std::size_t> batch;  // those of the batch iterators that it moves with
    bool depth_last = false;         // neighbors in memory are neighbors along the sum, not along rows or columns
  };

  loops::StoreTarget target;
  Factor left, right;
  std::vector<std::size_t> batch, rows, columns, depth;

  std::int64_t extent(const loops::Block& block, const std::vector<std::size_t>& iterators) const;
};

// Error: the block at `path` is not a contraction, or not alone in a nest with one serial loop for each iterator, in
// their order.
Result<Contraction> require_contraction(const Path& path, std::string_view primitive);

}  // namespace dovetail::schedule
