// What the integer operators share (docs/reference/quantization.md): zero points, requantization, the output range.
#pragma once

#include "compiler/ops/naive.h"

namespace dovetail::ops {

// y_zero_point, y_min, y_max and the others.
std::vector<AttributeRule> quantized_attributes(std::vector<AttributeRule> others);
// Zero points and the output range lie in int8, y_min <= y_max; everything wrong is collected.
Result<void> check_quantized_attributes(const Operands& operands);
// The attribute `scale` of operators with one scale: a number that float32 holds exactly, not 0.
Result<void> check_scale_attribute(const Operands& operands);

// int32 value of an int8 element minus its zero point.
loops::Expr centered(const loops::Expr& element, std::int64_t zero_point);
// The same for a weight whose zero points, one per output channel, are an optional input.
loops::Expr centered_weight(const Naive& program, const Operands& operands, const loops::Expr& weight,
                            std::size_t zero_points, const loops::Expr& channel);

// clamp(requantize(acc, scale, y_zero_point), y_min, y_max) as int8.
loops::Expr requantized(const Operands& operands, loops::Expr acc, loops::Expr scale);
// clamp(value, y_min, y_max) as int8; the full range of an int32 that may lie outside is cut too.
loops::Expr clamped(const Operands& operands, loops::Expr value);

}  // namespace dovetail::ops
