// Index arithmetic of reshapes: the same elements in row-major order under another shape.
#pragma once

#include "compiler/tensor/tensor.h"

namespace dovetail::ops {

// The indices in shape `to` of the element at `indices` of shape `from`. Axes are matched in groups of equal products,
// so that an axis of both shapes keeps its plain index; within a group, indices are floor_div and floor_mod of the
// group's flat index. Precondition: equal, nonzero element counts.
tensor::Indices reshape_indices(const Shape& from, const tensor::Indices& indices, const Shape& to);

}  // namespace dovetail::ops
