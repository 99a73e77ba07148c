// Index maps: the physical layout of the logical elements of a buffer. Each physical dimension contains one part,
// (index // divisor) % modulus, of one logical index, which may be exclusive-ored with such a part of another one (the
// swizzle of banked memories). Expresses splits, permutations and swizzles; one to one by construction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "loops/ir.h"

namespace dovetail::schedule {

struct IndexMap {
  struct Part {
    int dimension;  // of the logical shape
    std::int64_t divisor;
    std::int64_t extent;  // of the physical dimension
    // The part's value is exclusive-ored with (index // divisor) % extent of another dimension. Both extents are powers
    // of two, this one no larger than the part's; that dimension's own parts are not swizzled, so they provide the
    // value for the inverse.
    struct Swizzle {
      int dimension;
      std::int64_t divisor, extent;
    };
    std::optional<Swizzle> swizzle = {};
  };
  Shape logical_shape;
  std::vector<Part> parts;

  Shape physical_shape() const;
  std::vector<loops::Expr> apply(const std::vector<loops::Expr>& logical) const;
};

// "i0,i1/16,i2,i3,i1%16" for a given logical shape; "i0,i1/8^i0%8,i1%8" with a swizzle. Errors: syntax, a part that
// does not divide, a dimension not covered exactly, a swizzle that cannot be inverted.
Result<IndexMap> parse_index_map(std::string_view text, const Shape& logical_shape);

// The text of a map without needless parts: parse_index_map(to_string(map), map.logical_shape) is the map.
std::string to_string(const IndexMap& map);

// The map that acts as `first`, then `second` on its physical shape. Error: `second` splits a part that a swizzle needs
// undivided.
Result<IndexMap> compose(const IndexMap& first, const IndexMap& second);

// Converts a constant to its physical layout. Precondition: the array has the map's logical shape.
NdArray pack(const NdArray& logical, const IndexMap& map);

// How an operand is distributed over the lanes that execute an intrinsic: the first `lanes` parts of the map give the
// lane, the others the register.
struct Fragment {
  IndexMap map;
  std::size_t lanes;

  struct Place {
    std::int64_t lane, register_index;
  };
  Place place(const std::vector<std::int64_t>& element) const;  // precondition: within the map's logical shape
};
// "i0%8,i1/2|i0/8,i1%2" for the operand's shape: an index map with a bar. Errors: those of index maps, no bar, a
// swizzle.
Result<Fragment> parse_fragment(std::string_view text, const Shape& logical_shape);

}  // namespace dovetail::schedule
