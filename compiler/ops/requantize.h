// Shared by the integer operators (docs/reference/quantization.md): zero points, requantization, the output range.
#pragma once

#include "compiler/ops/naive.h"

namespace dovetail::ops {

// The attributes y_zero_point, y_min and y_max, followed by `others`.
std::vector<AttributeRule> quantized_attributes(std::vector<AttributeRule> others);
// Zero points and the output range must be in int8, and y_min <= y_max; all errors are collected.
Result<void> check_quantized_attributes(const Operands& operands);
// The attribute `scale` of operators with one scale: a nonzero number that float32 represents exactly.
Result<void> check_scale_attribute(const Operands& operands);

// An int8 element minus its zero point, in int32.
loops::Expr centered(const loops::Expr& element, std::int64_t zero_point);
// The same for a weight whose zero points (one per output channel) are an optional input.
loops::Expr centered_weight(const Naive& program, const Operands& operands, const loops::Expr& weight,
                            std::size_t zero_points, const loops::Expr& channel);

// clamp(requantize(acc, scale, y_zero_point), y_min, y_max) as int8.
loops::Expr requantized(const Operands& operands, loops::Expr acc, loops::Expr scale);
// clamp(value, y_min, y_max) as int8; with the full int8 range, an int32 out of range is still clamped.
loops::Expr clamped(const Operands& operands, loops::Expr value);

}  // namespace dovetail::ops
