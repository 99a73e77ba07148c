// Accesses as flat offsets into row-major buffers.
#pragma once

#include <optional>

#include "loops/ir.h"
#include "loops/simplify.h"

namespace dovetail::loops {

// The element's position as constant + sum(coefficient * loop variable); nullopt if an index is not affine.
std::optional<Affine> flat_offset(const BufferNode& buffer, const std::vector<Expr>& indices);

bool same_place(const std::vector<Expr>& a, const std::vector<Expr>& b);

// Row-major strides in elements.
std::vector<std::int64_t> row_major_strides(const Shape& shape);

}  // namespace dovetail::loops
