// The constants of epilogues and operands.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "compiler/target/accel/programs/programs.h"
#include "isa/semantics/epilogue.h"

namespace dovetail::accel {

namespace {

using Form = Epilogue::Form;

constexpr std::int64_t kMostOperand = 255;  // |a - zero_point| of int8

}  // namespace

std::int64_t Epilogue::words() const { return form == Form::requant ? 2 : fixed_point.words(); }

NdArray epilogue_constants(const Epilogue& e, std::int64_t batch, std::int64_t channels,
                           std::span<const std::int32_t> bias, std::span<const float> scale) {
  NdArray constants(DType::int32, {batch, channels, e.words()});
  const auto words = constants.data<std::int32_t>();
  for (std::int64_t o = 0; o < channels; ++o) {
    // Channels beyond the model's are padding, whose results are never read. They get the first scale, which is valid
    // for the passes.
    const std::int32_t own_bias = o < static_cast<std::int64_t>(bias.size()) ? bias[static_cast<std::size_t>(o)] : 0;
    const float own_scale = o < static_cast<std::int64_t>(scale.size()) ? scale[static_cast<std::size_t>(o)] : scale[0];
    const std::vector<std::int32_t> row =
        e.form == Form::requant ? std::vector<std::int32_t>{std::bit_cast<std::int32_t>(own_scale), own_bias}
                                : fixed_point_channel(own_scale, e.fixed_point, e.range).words(e.fixed_point, own_bias);
    DOVETAIL_CHECK(static_cast<std::int64_t>(row.size()) == e.words(), "each channel has the epilogue's constants");
    for (std::int64_t b = 0; b < batch; ++b)
      std::copy(row.begin(), row.end(), &words[static_cast<std::size_t>((b * channels + o) * e.words())]);
  }
  return constants;
}

NdArray epilogue_parameters(const Epilogue& e, std::int64_t channels, std::int64_t block_in,
                            std::span<const std::int32_t> bias, std::span<const float> scale) {
  NdArray parameters(DType::int8, {channels, block_in});
  for (std::int64_t o = 0; o < channels; ++o) {
    const auto channel = static_cast<std::size_t>(o);
    const auto row = parameters.data<std::int8_t>().subspan(channel * static_cast<std::size_t>(block_in),
                                                            static_cast<std::size_t>(block_in));
    isa::semantics::put_lane(row, channel < bias.size() ? bias[channel] : 0,
                             std::bit_cast<std::uint32_t>(channel < scale.size() ? scale[channel] : scale[0]));
    row[isa::semantics::zero_point_at(row.size())] = static_cast<std::int8_t>(e.range.zero_point);
    row[isa::semantics::least_at(row.size())] = static_cast<std::int8_t>(e.range.y_min);
    row[isa::semantics::most_at(row.size())] = static_cast<std::int8_t>(e.range.y_max);
  }
  return parameters;
}

std::optional<SplitMultiplier> split_multiplier(float multiplier) {
  constexpr std::int32_t kLargest = INT32_MAX / 256;  // |a| <= 255, and a carry
  const float magnitude = std::fabs(multiplier);
  const std::int32_t sign = multiplier < 0 ? -1 : 1;
  if (!(magnitude >= 0x1p-20f && magnitude <= static_cast<float>(kLargest))) return std::nullopt;
  const auto pattern = std::bit_cast<std::uint32_t>(magnitude);
  std::int64_t m = (pattern & 0x7fffff) | 0x800000;
  int bits = 150 - static_cast<int>(pattern >> 23);
  for (; bits > 0 && m % 2 == 0; --bits) m /= 2;
  for (; bits < 0; ++bits) m *= 2;
  SplitMultiplier split;
  split.fraction_bits = bits;
  const std::int64_t integer = m >> bits, fraction = m - (integer << bits);
  if (bits > 22 || integer > kLargest || fraction > kLargest) return std::nullopt;
  split.integer = sign * static_cast<std::int32_t>(integer);
  split.fraction = sign * static_cast<std::int32_t>(fraction);
  return split;
}

bool SplitMultiplier::has_ties() const {
  return fraction_bits > 0 && std::int64_t{1} << (fraction_bits - 1) <= kMostOperand;
}
bool SplitMultiplier::in_one() const {
  return kMostOperand * std::abs(significand()) + (std::int64_t{1} << fraction_bits) <= INT32_MAX;
}

std::int64_t operand_words(const AddSpec& spec) { return spec.epilogue.form == Form::requant ? 2 : 6; }

NdArray operand_constants(const AddSpec& spec, const Core& config, std::int32_t zero_point, float multiplier,
                          const SplitMultiplier& split) {
  const bool requant = spec.epilogue.form == Form::requant;
  const std::int64_t count = operand_words(spec);
  NdArray constants(DType::int32, {config.batch, config.block_out, count});
  const int bits = split.fraction_bits;
  const std::int32_t half = bits == 0 ? 0 : std::int32_t{1} << (bits - 1);
  // The lowest bit of the rounded product, moved to the sign.
  const auto parity = static_cast<std::int32_t>(bits == 0 ? 0 : split.significand() << (31 - bits));
  const std::int32_t with_requant[] = {std::bit_cast<std::int32_t>(multiplier), -zero_point},
                     without[] = {-zero_point,
                                  split.in_one() ? static_cast<std::int32_t>(split.significand()) : split.integer,
                                  split.fraction,
                                  half,
                                  parity,
                                  bits == 0 ? 0 : std::int32_t{1} << 30};
  for (std::int64_t i = 0; i < config.batch * config.block_out; ++i)
    std::copy_n(requant ? with_requant : without, count,
                &constants.data<std::int32_t>()[static_cast<std::size_t>(i * count)]);
  return constants;
}

}  // namespace dovetail::accel
