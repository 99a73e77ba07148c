// Scaling int32 accumulators to int8 by wrapping 32-bit passes, exactly, on hardware without `requant`.
// docs/explanation/accelerator-backend.md derives it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dovetail::accel {

// The range to which a result is clamped, and the zero point that is added before.
struct OutputRange {
  std::int32_t zero_point = 0, y_min = -128, y_max = 127;
};

// The maximum number of limbs of a product: each needs a pass, and five passes for its carry.
inline constexpr int kMostLimbs = 4;

// The passes of the computation. Per channel, with w the accumulator plus a constant, clamped to the range of results:
//   x = w * m + rounding, result = x >> e, m * 2^-e the scale
struct FixedPoint {
  int limbs = 0;        // limbs of m; 0: every scale is 2^-s, and m = 1
  bool ties = false;    // a result may be halfway between two integers, and is rounded to the even one
  bool shifts = false;  // e > 0 for a channel
  bool clamps = false;  // a channel's scale is above 1, so that its results skip integers, possibly the bounds
  std::int32_t zero_point =
      0;                   // the part of the zero point that is added at the end, since `rounding` cannot include it
  std::int64_t bound = 0;  // of |accumulator|, bias included
  // Shifts that all channels share, instead of constants per channel: that of each limb but the last, and that of the
  // last.
  struct Shifts {
    int of_limb = 0, last = 0;
    bool operator==(const Shifts&) const = default;
  };
  std::optional<Shifts> common;

  // Constants per channel, in the order of FixedPointChannel::words: center, low, high, limbs, rounding, shifts between
  // limbs if any, parity, the last shift.
  std::int64_t words() const { return last_shift_word() + (shifts && !common ? 1 : 0); }
  std::int64_t limb_word(int limb) const { return 3 + limb; }
  std::int64_t rounding_word() const { return limb_word(limbs); }
  std::int64_t shift_word(int limb) const { return rounding_word() + 1 + limb; }
  std::int64_t parity_word() const { return shift_word(limbs == 0 ? -1 : common ? 0 : limbs - 1); }
  std::int64_t last_shift_word() const { return parity_word() + (ties ? 1 : 0); }
};

// The plan for accumulators of magnitude up to `bound`, bias included. nullopt if a scale is not possible with 32-bit
// passes: accumulators of 31 bits can have scales from 2^-18 to 2^7, and 2^-s for s up to 30; smaller accumulators can
// have smaller scales.
std::optional<FixedPoint> plan_fixed_point(std::span<const float> scales, const OutputRange& range, std::int64_t bound);

struct FixedPointChannel {
  std::int64_t center = 0;                       // added to the accumulator, in addition to the bias
  std::int64_t low = 0, high = 0;                // bounds of w
  std::array<std::int64_t, kMostLimbs> limbs{};  // signed, lowest first; the last `FixedPoint::limbs` count
  std::array<int, kMostLimbs> shifts{};          // shift after each limb
  std::int64_t rounding = 0;                     // added to x
  std::int64_t parity = 0;                       // x * parity has the result's lowest bit as its sign; 0 without ties

  std::vector<std::int32_t> words(const FixedPoint& plan, std::int32_t bias) const;
};
// Precondition: `plan` was made for this scale and range.
FixedPointChannel fixed_point_channel(float scale, const FixedPoint& plan, const OutputRange& range);

}  // namespace dovetail::accel
