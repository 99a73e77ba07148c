// Element types of less than a byte (int4, uint4, int2, uint2). They are widened to int8 or uint8. Operators that read
// them compute the same results; those that write them must stay within the narrow range.
#pragma once

#include <optional>

#include "base/dtype.h"

namespace dovetail::onnx {
struct Model;
}

namespace dovetail::import {

struct NarrowType {
  int onnx;  // TensorProto.DataType
  int bits;
  DType widened;
  int min, max;
};
inline constexpr NarrowType kNarrowTypes[] = {{21, 4, DType::uint8, 0, 15},
                                              {22, 4, DType::int8, -8, 7},
                                              {25, 2, DType::uint8, 0, 3},
                                              {26, 2, DType::int8, -2, 1}};

constexpr const NarrowType* find_narrow(std::int64_t onnx) {
  for (const NarrowType& row : kNarrowTypes)
    if (row.onnx == onnx) return &row;
  return nullptr;
}
// The type in which elements of a tensor of the file are stored.
constexpr std::optional<DType> held_dtype(int onnx) {
  const NarrowType* narrow = find_narrow(onnx);
  return narrow != nullptr ? std::optional(narrow->widened) : dtype_from_onnx(onnx);
}

// Records in the nodes what a widened operand no longer shows: QuantizeLinear gets the output_dtype that its zero point
// implies, and CastLike becomes a Cast.
void keep_narrow_results(onnx::Model& model);

}  // namespace dovetail::import
