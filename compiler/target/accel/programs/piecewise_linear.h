// Tables (dovetail.qtable) whose values are on two lines through one point: LeakyRelu, PRelu, Abs, Neg, HardSigmoid,
// Relu with another scale. They are the maximum or the minimum of two products, rounded and clamped, which the ALU
// computes exactly: all 256 values are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dovetail::accel {

// Slopes are multiples of 2^-15, so that halves fit an immediate, and products with a centered int8 number fit int32.
constexpr int kSlopeBits = 15;

// y = clamp(larger or smaller of round((x - x_zero) * left) and round((x - x_zero) * right), + y_zero, y_min, y_max).
// Rounds half to even with `requant`, half up without.
struct PiecewiseLinear {
  struct Slopes {
    std::int32_t left = 0, right = 0;
  };
  std::int32_t x_zero = 0, y_zero = 0, y_min = -128, y_max = 127;
  bool larger = true;
  std::vector<Slopes> slopes;  // slopes of each table
};

// `tables`: 256 values each, the value of -128 first. nullopt where the tables are not such lines with the same x_zero
// and y_zero.
std::optional<PiecewiseLinear> fit_piecewise_linear(std::span<const std::int8_t> tables, bool requant);

}  // namespace dovetail::accel
