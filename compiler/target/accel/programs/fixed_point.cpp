#include "compiler/target/accel/programs/fixed_point.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "loops/integer.h"

namespace dovetail::accel {

namespace {

// A zero point that makes the constant larger is added after the shift: else it would reduce the range of accumulators.
constexpr std::int64_t kMostZeroPoint = std::int64_t{1} << 24;
// Selection ensures that accumulators, including their addends, are not larger.
constexpr std::int64_t kMostAccumulator = INT32_MAX - 1;

// The limit for which bounds and products of m and accumulators fit 63 bits.
constexpr int kMostExponent = 50;
constexpr float kScalesEnd = 128;

std::int64_t floor_shift(std::int64_t value, int places) { return value >> places; }
std::int64_t ceil_division(std::int64_t a, std::int64_t b) { return -loops::floor_div(-a, b); }
bool fits(std::int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

// m * 2^-e with m odd, or e = 0. Precondition: positive and normal.
struct Scale {
  explicit Scale(float scale)
      : m((std::bit_cast<std::uint32_t>(scale) & 0x7fffff) | 0x800000),
        e(150 - static_cast<int>(std::bit_cast<std::uint32_t>(scale) >> 23)) {
    for (; e > 0 && m % 2 == 0; --e) m /= 2;
    for (; e < 0; ++e) m *= 2;
  }
  std::int64_t m;
  int e;

  std::int64_t half() const { return e > 0 ? std::int64_t{1} << (e - 1) : 0; }
  std::int64_t rounded(std::int64_t value) const {  // half to even
    const std::int64_t x = value * m + half(), quotient = floor_shift(x, e);
    const bool tie = e > 0 && x == quotient << e;
    return tie ? quotient - (quotient & 1) : quotient;
  }
  bool beyond_1() const { return m > std::int64_t{1} << e; }
  // The same number with another, not smaller exponent.
  Scale with_exponent(int exponent) const {
    Scale scale = *this;
    scale.m <<= exponent - e;
    scale.e = exponent;
    return scale;
  }
};

// The accumulators, bias included, whose results are in range, if there are any. All others have the result of the
// nearer bound.
struct Span {
  Span(const Scale& scale, const OutputRange& range, std::int64_t bound) {
    const std::int64_t least = range.y_min - range.zero_point, most = range.y_max - range.zero_point;
    low = ceil_division((least << scale.e) - scale.half(), scale.m);
    high = loops::floor_div(((most + 1) << scale.e) - scale.half() - 1, scale.m);
    if (scale.rounded(low) < least) ++low;
    if (scale.rounded(high + 1) <= most) ++high;
    // If results skip integers, the next accumulators outside give the bound, by the clamp after the scaling.
    if (scale.beyond_1()) --low, ++high;
    const std::int64_t least_wanted = low, most_wanted = high;
    low = std::max(least_wanted, std::min(-bound, most_wanted));
    high = std::min(most_wanted, std::max(bound, least_wanted));
  }
  std::int64_t low, high;
  std::int64_t largest() const { return std::max(std::abs(low), std::abs(high)); }
};

bool has_ties(const Scale& scale, const Span& span) {
  // m is odd, so value * m is halfway between integers if value is an odd multiple of 2^(e-1).
  return scale.e > 0 && std::int64_t{1} << (scale.e - 1) <= span.largest();
}

// The signed remainder modulo 2^places, nearest to 0.
std::int64_t centered(std::int64_t value, int places) {
  const std::int64_t half = places > 0 ? std::int64_t{1} << (places - 1) : 0;
  return value - (floor_shift(value + half, places) << places);
}

// Cuts m into `limbs` limbs with `places` bits in each but the last. Returns whether every sum fits 32 bits for both
// bounds of w.
bool cut_at(FixedPointChannel& channel, const Scale& scale, int limbs, int places) {
  std::int64_t rest = scale.m;
  channel.limbs = {};
  channel.shifts = {};
  for (int i = kMostLimbs - limbs; i < kMostLimbs - 1; ++i) {
    const auto at = static_cast<std::size_t>(i);
    channel.limbs[at] = centered(rest, places);
    channel.shifts[at] = places;
    rest = floor_shift(rest - channel.limbs[at], places);
  }
  channel.limbs[kMostLimbs - 1] = rest;
  channel.shifts[kMostLimbs - 1] = scale.e - places * (limbs - 1);
  if (channel.shifts[kMostLimbs - 1] > 31 || !fits(rest)) return false;
  for (const std::int64_t w : {channel.low, channel.high}) {
    std::int64_t x = channel.rounding;
    for (int i = kMostLimbs - limbs; i < kMostLimbs; ++i) {
      x += w * channel.limbs[static_cast<std::size_t>(i)];
      // Sums are monotonic between the bounds, except for the floor of the carry.
      if (!fits(x - 1) || !fits(x + 1)) return false;
      x = floor_shift(x, channel.shifts[static_cast<std::size_t>(i)]);
    }
  }
  return true;
}

// The same with the least number of places that works.
bool cut(FixedPointChannel& channel, const Scale& scale, int limbs) {
  for (int places = 0; places * (limbs - 1) <= scale.e; ++places) {
    if (cut_at(channel, scale, limbs, places)) return true;
    if (limbs == 1) return false;
  }
  return false;
}

// The part of the zero point that is added before the shift. It must be even if there are ties, whose passes test the
// lowest bit of the result.
std::int32_t before_shift(const OutputRange& range, const FixedPoint& plan) {
  return range.zero_point - plan.zero_point;
}

// The channel without limbs and shifts. nullopt if the center would exceed the range of accumulators.
std::optional<FixedPointChannel> uncut_channel(const Scale& scale, const Span& span, std::int32_t zero_point) {
  FixedPointChannel channel;
  const std::int64_t constant = scale.half() + (std::int64_t{zero_point} << scale.e);
  channel.center = loops::floor_div(constant, scale.m);
  channel.rounding = constant - channel.center * scale.m;
  // Bounds beyond the range of accumulators have no effect.
  channel.low = std::max(span.low + channel.center, -kMostAccumulator);
  channel.high = std::min(span.high + channel.center, kMostAccumulator);
  if (zero_point != 0 && std::abs(channel.center) > kMostZeroPoint) return std::nullopt;
  return channel;
}

std::optional<FixedPointChannel> channel_of(const Scale& scale, const Span& span, int limbs, std::int32_t zero_point) {
  std::optional<FixedPointChannel> uncut = uncut_channel(scale, span, zero_point);
  if (!uncut) return std::nullopt;
  FixedPointChannel& channel = *uncut;
  channel.parity = has_ties(scale, span) ? std::int64_t{1} << (31 - scale.e) : 0;
  if (limbs == 0) {
    channel.shifts[kMostLimbs - 1] = scale.e;
    return scale.m == 1 ? std::optional(channel) : std::nullopt;
  }
  // A channel with fewer limbs than the others has 0 in the lower ones. Ties need all bits of x in one word.
  for (int own = 1; own <= (channel.parity != 0 ? 1 : limbs); ++own)
    if (cut(channel, scale, own)) return channel;
  return std::nullopt;
}

// The channel with the shifts that all channels share. A larger exponent multiplies m, so that ties are the same.
std::optional<FixedPointChannel> channel_of(const Scale& scale, const Span& span, const FixedPoint& plan,
                                            const FixedPoint::Shifts& common, std::int32_t zero_point) {
  const int exponent = common.last + common.of_limb * std::max(0, plan.limbs - 1);
  if (scale.e > exponent) return std::nullopt;
  const bool ties = has_ties(scale, span);
  const Scale same = scale.with_exponent(exponent);
  if ((plan.limbs == 0 && same.m != 1) || (ties && (plan.limbs > 1 || exponent > 31))) return std::nullopt;
  std::optional<FixedPointChannel> channel = uncut_channel(same, span, zero_point);
  if (!channel) return std::nullopt;
  channel->parity = ties ? std::int64_t{1} << (31 - exponent) : 0;
  if (plan.limbs == 0) channel->shifts[kMostLimbs - 1] = exponent;
  else if (!cut_at(*channel, same, plan.limbs, common.of_limb)) return std::nullopt;
  return channel;
}

// The shifts for all scales: for the largest exponent, with the least number of places that works.
std::optional<FixedPoint::Shifts> common_shifts(std::span<const float> scales, const OutputRange& range,
                                                const FixedPoint& plan) {
  int exponent = 0;
  for (const float scale : scales) exponent = std::max(exponent, Scale(scale).e);
  const int cuts = std::max(0, plan.limbs - 1);
  for (int places = 0; places * cuts <= exponent; ++places) {
    const FixedPoint::Shifts shifts{places, exponent - places * cuts};
    if (std::ranges::all_of(scales, [&](float value) {
          const Scale scale(value);
          return channel_of(scale, Span(scale, range, plan.bound), plan, shifts, before_shift(range, plan)).has_value();
        }))
      return shifts;
    if (cuts == 0) break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FixedPoint> plan_fixed_point(std::span<const float> scales, const OutputRange& range,
                                           std::int64_t bound) {
  FixedPoint plan;
  plan.bound = bound;
  for (const float value : scales) {
    if (!(value >= std::numeric_limits<float>::min() && value < kScalesEnd)) return std::nullopt;
    const Scale scale(value);
    if (scale.e > kMostExponent) return std::nullopt;
    plan.ties = plan.ties || has_ties(scale, Span(scale, range, bound));
    plan.shifts = plan.shifts || scale.e > 0;
    plan.clamps = plan.clamps || scale.beyond_1();
  }
  // The zero point is part of `rounding`, except for an odd one with ties, and one that is too large.
  const auto fewest_limbs = [&](std::int32_t at_end) -> std::optional<int> {
    plan.zero_point = at_end;
    int limbs = 0;
    for (const float value : scales) {
      const Scale scale(value);
      const Span span(scale, range, bound);
      while (limbs <= kMostLimbs && !channel_of(scale, span, limbs, before_shift(range, plan))) ++limbs;
    }
    return limbs <= kMostLimbs ? std::optional(limbs) : std::nullopt;
  };
  const std::int32_t odd = plan.ties ? range.zero_point & 1 : 0;
  for (const std::int32_t at_end : {odd, range.zero_point})
    if (const auto limbs = fewest_limbs(at_end)) {
      plan.limbs = *limbs;
      plan.common = common_shifts(scales, range, plan);
      return plan;
    }
  return std::nullopt;
}

FixedPointChannel fixed_point_channel(float value, const FixedPoint& plan, const OutputRange& range) {
  const Scale scale(value);
  const Span span(scale, range, plan.bound);
  const std::int32_t zero_point = before_shift(range, plan);
  const auto channel = plan.common ? channel_of(scale, span, plan, *plan.common, zero_point)
                                   : channel_of(scale, span, plan.limbs, zero_point);
  DOVETAIL_CHECK(channel, "the plan was made for this scale");
  return *channel;
}

std::vector<std::int32_t> FixedPointChannel::words(const FixedPoint& plan, std::int32_t bias) const {
  std::vector<std::int64_t> words{bias + center, low, high};
  const auto first = limbs.end() - plan.limbs;
  words.insert(words.end(), first, limbs.end());
  if (plan.limbs > 0) words.push_back(rounding);
  if (!plan.common && plan.limbs > 1) words.insert(words.end(), shifts.end() - plan.limbs, shifts.end() - 1);
  if (plan.ties) words.push_back(parity);
  if (plan.shifts && !plan.common) words.push_back(shifts.back());
  std::vector<std::int32_t> narrow;
  for (const std::int64_t word : words) narrow.push_back(static_cast<std::int32_t>(word));
  return narrow;
}

}  // namespace dovetail::accel
