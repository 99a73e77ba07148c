#include "compiler/ops/requantize.h"

#include <cmath>

#include <fmt/format.h>

#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

constexpr std::int64_t kLow = -128, kHigh = 127;

std::int64_t attribute(const Operands& operands, std::string_view name, std::int64_t fallback) {
  return graph::int_attribute(operands.node, name, fallback);
}

loops::Expr int32(std::int64_t value) { return loops::int_imm(value, DType::int32); }

}  // namespace

std::vector<AttributeRule> quantized_attributes(std::vector<AttributeRule> others) {
  for (const std::string_view name : {"y_max", "y_min", "y_zero_point"})
    others.push_back({name, AttributeKind::integer});
  return others;
}

Result<void> check_quantized_attributes(const Operands& operands) {
  Diagnostics errors;
  for (const std::string_view name : {"a_zero_point", "b_zero_point", "x_zero_point", "y_max", "y_min", "y_zero_point"})
    if (const std::int64_t value = attribute(operands, name, 0); value < kLow || value > kHigh)
      errors.push_back(refuse(operands,
                              fmt::format("{} is {}, but the range of int8 is {} to {}", name, value, kLow, kHigh),
                              "recenter uint8 data first, which lowers zero points by 128"));
  const std::int64_t low = attribute(operands, "y_min", kLow), high = attribute(operands, "y_max", kHigh);
  if (low > high) errors.push_back(refuse(operands, fmt::format("y_min {} > y_max {}", low, high), "swap them"));
  return errors;
}

Result<void> check_scale_attribute(const Operands& operands) {
  const double scale = graph::float_attribute(operands.node, "scale", 0);
  if (scale != 0 && std::isfinite(scale) && static_cast<double>(static_cast<float>(scale)) == scale) return {};
  return refuse(operands, fmt::format("scale is {}, expected a nonzero number that float32 represents exactly", scale),
                "round it to float32 when the graph is lowered");
}

loops::Expr centered(const loops::Expr& element, std::int64_t zero_point) {
  const loops::Expr wide = loops::cast(DType::int32, element);
  return zero_point == 0 ? wide : wide - zero_point;
}

loops::Expr centered_weight(const Naive& program, const Operands& operands, const loops::Expr& weight,
                            std::size_t zero_points, const loops::Expr& channel) {
  const loops::Expr wide = loops::cast(DType::int32, weight);
  if (!operands.has(zero_points)) return wide;
  return wide - loops::cast(DType::int32, loops::load(program.in(zero_points), {channel}));
}

loops::Expr requantized(const Operands& operands, loops::Expr acc, loops::Expr scale) {
  const loops::Expr zero = int32(attribute(operands, "y_zero_point", 0));
  return clamped(operands, loops::call(loops::Function::requantize, {std::move(acc), std::move(scale), zero}));
}

loops::Expr clamped(const Operands& operands, loops::Expr value) {
  const loops::Expr low = int32(attribute(operands, "y_min", kLow)), high = int32(attribute(operands, "y_max", kHigh));
  return loops::cast(DType::int8, tensor::clamp(loops::cast(DType::int32, std::move(value)), low, high));
}

}  // namespace dovetail::ops
