// Index arithmetic of reshapes: the same elements in row-major order under another shape.
#pragma once

#include "compiler/tensor/tensor.h"

namespace dovetail::ops {

// Where the element at `indices` of shape `from` lies in shape `to`. Axes are matched in groups of equal products, so
// that an axis that both shapes share stays a plain index; within a group it is floor_div and floor_mod of the group's
// flat index. Precondition: equal element counts, not 0.
tensor::Indices reshape_indices(const Shape& from, const tensor::Indices& indices, const Shape& to);

}  // namespace dovetail::ops
