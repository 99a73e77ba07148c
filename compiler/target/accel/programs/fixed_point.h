// Scaling int32 accumulators to int8 by wrapping 32-bit passes, exactly, on hardware without `requant`.
// docs/explanation/accelerator-backend.md derives it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dovetail::accel {

// The range that a result is clamped to, and the zero point that is added before.
struct OutputRange {
  std::int32_t zero_point = 0, y_min = -128, y_max = 127;
};

// The most pieces into which a product is cut: a pass each, and five for what carries it to the next.
inline constexpr int kMostLimbs = 4;

// Which passes there are. Per channel, with w the accumulator plus a constant, clamped to where results are in range:
//   x = w * m + rounding, result = x >> e, m * 2^-e the scale
struct FixedPoint {
  int limbs = 0;                // of m; 0: every scale is 2^-s, and m = 1
  bool ties = false;            // a result may be halfway between two integers, and goes to the even one
  bool shifts = false;          // e > 0 for a channel
  bool clamps = false;          // a channel's scale is beyond 1: its results skip integers, the bounds perhaps
  std::int32_t zero_point = 0;  // what is added at the end: the part that `rounding` cannot hold
  std::int64_t bound = 0;       // of |accumulator|, bias included
  // Shifts of all channels, which then are not constants of them: each but the last limb's, and the last one's.
  struct Shifts {
    int of_limb = 0, last = 0;
    bool operator==(const Shifts&) const = default;
  };
  std::optional<Shifts> common;

  // Constants per channel. In the order of FixedPointChannel::words: center, low, high, limbs, rounding and shifts
  // between limbs where there are such, parity, the last shift.
  std::int64_t words() const { return last_shift_word() + (shifts && !common ? 1 : 0); }
  std::int64_t limb_word(int limb) const { return 3 + limb; }
  std::int64_t rounding_word() const { return limb_word(limbs); }
  std::int64_t shift_word(int limb) const { return rounding_word() + 1 + limb; }
  std::int64_t parity_word() const { return shift_word(limbs == 0 ? -1 : common ? 0 : limbs - 1); }
  std::int64_t last_shift_word() const { return parity_word() + (ties ? 1 : 0); }
};

// For accumulators that are at most `bound` with their biases. Nothing where a scale has no form of 32-bit passes:
// accumulators of 31 bits can have scales from 2^-18 to 2^7, and 2^-s for s up to 30; smaller accumulators smaller
// ones.
std::optional<FixedPoint> plan_fixed_point(std::span<const float> scales, const OutputRange& range, std::int64_t bound);

struct FixedPointChannel {
  std::int64_t center = 0;                       // added to the accumulator, in addition to the bias
  std::int64_t low = 0, high = 0;                // bounds of w
  std::array<std::int64_t, kMostLimbs> limbs{};  // signed, lowest first; the last `FixedPoint::limbs` count
  std::array<int, kMostLimbs> shifts{};          // after each
  std::int64_t rounding = 0;                     // of x
  std::int64_t parity = 0;                       // x * parity has the result's lowest bit as its sign; 0 without ties

  std::vector<std::int32_t> words(const FixedPoint& plan, std::int32_t bias) const;
};
// Precondition: `plan` is one for this scale and range.
FixedPointChannel fixed_point_channel(float scale, const FixedPoint& plan, const OutputRange& range);

}  // namespace dovetail::accel
