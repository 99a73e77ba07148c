// The constants of epilogues and operands, and what each form can do.
#include <bit>
#include <cmath>

#include "compiler/target/accel/programs.h"

namespace dovetail::accel {

namespace {

using Form = Epilogue::Form;

int exponent_bits(float value) {
  return static_cast<int>(std::bit_cast<std::uint32_t>(value) >> 23);
}  // 256 and more: negative
std::int32_t significand(float value) {
  return static_cast<std::int32_t>((std::bit_cast<std::uint32_t>(value) & 0x7fffff) | 0x800000);
}

void write_multiply(std::int32_t* row, std::int32_t bias, float scale) {
  // scale = m * 2^-e. Accumulators beyond 256 / scale saturate whatever the zero point is, so they may be clamped: that
  // bounds all products.
  const std::int32_t m = significand(scale);
  const int e = 150 - exponent_bits(scale);
  const auto limit = static_cast<std::int32_t>(std::ceil(std::min(256.0 / static_cast<double>(scale), 2147483520.0)));
  const int s = e - 15;  // multiplied_significand leaves 2^15 of 2^e to the rounding shift
  const std::int32_t words[] = {bias,
                                -limit,
                                limit,
                                m & 255,
                                (m >> 8) & 255,
                                m >> 16,
                                std::int32_t{1} << s,
                                s - 31,
                                -(std::int32_t{1} << (s - 1)),
                                s};
  std::copy(std::begin(words), std::end(words), row);
}

}  // namespace

std::int64_t Epilogue::words() const {
  switch (form) {
    case Form::requant: return 2;
    case Form::unscaled: return 1;
    case Form::shift: return 4;
    case Form::multiply: return 10;
  }
  throw InternalError("unknown epilogue form");
}

std::int64_t Epilogue::accumulators() const {
  switch (form) {
    case Form::requant:
    case Form::unscaled: return 1;
    case Form::shift: return 2;     // and the tie
    case Form::multiply: return 6;  // and low, sticky, middle, rest, the tie
  }
  throw InternalError("unknown epilogue form");
}

std::optional<int> shift_of_scale(float scale) {
  const int exponent = exponent_bits(scale);
  if ((std::bit_cast<std::uint32_t>(scale) & 0x7fffff) != 0 || exponent > 127 || exponent < 127 - 30)
    return std::nullopt;
  return 127 - exponent;
}

bool multiply_takes(float scale) { return exponent_bits(scale) >= 127 - 14 && exponent_bits(scale) < 127 + 7; }

NdArray epilogue_constants(const Epilogue& e, std::int64_t batch, std::int64_t channels,
                           std::span<const std::int32_t> bias, std::span<const float> scale) {
  NdArray constants(DType::int32, {batch, channels, e.words()});
  const auto words = constants.data<std::int32_t>();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t o = 0; o < channels; ++o) {
      std::int32_t* row = &words[static_cast<std::size_t>((b * channels + o) * e.words())];
      // Channels beyond the model's are padding: nothing reads what they yield. They take the first scale, which the
      // passes can do.
      const std::int32_t own_bias = o < static_cast<std::int64_t>(bias.size()) ? bias[static_cast<std::size_t>(o)] : 0;
      const float own_scale =
          o < static_cast<std::int64_t>(scale.size()) ? scale[static_cast<std::size_t>(o)] : scale[0];
      switch (e.form) {
        case Form::requant:
          row[0] = std::bit_cast<std::int32_t>(own_scale);
          row[1] = own_bias;
          break;
        case Form::unscaled: row[0] = own_bias; break;
        case Form::shift: {
          const int s = shift_of_scale(own_scale).value();
          DOVETAIL_CHECK(s >= 1, "scale 1 beside others takes the form `multiply`");
          row[0] = own_bias + (std::int32_t{1} << s);
          row[1] = s - 31;
          row[2] = -(std::int32_t{1} << (s - 1));
          row[3] = s;
          break;
        }
        case Form::multiply: write_multiply(row, own_bias, own_scale); break;
      }
    }
  }
  return constants;
}

std::optional<SplitMultiplier> split_multiplier(float multiplier) {
  constexpr std::int32_t kLargest = INT32_MAX / 256;  // |a| <= 255, and a carry
  const float magnitude = std::fabs(multiplier);
  const std::int32_t sign = multiplier < 0 ? -1 : 1;
  if (!(magnitude >= 0x1p-20f && magnitude <= static_cast<float>(kLargest))) return std::nullopt;
  std::int64_t m = significand(magnitude);
  int bits = 150 - exponent_bits(magnitude);
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

std::int64_t AddSpec::accumulators() const {
  if (epilogue.form == Form::requant) return 2;
  const auto operand = [](const SplitMultiplier& m) {
    return m.fraction_bits == 0 ? 1 : 4;
  };  // and the rest, the quotient, the odd bit
  return operand(a_multiplier) + operand(b_multiplier) + epilogue.accumulators() - 1;
}

NdArray operand_constants(const AddSpec& spec, const isa::HardwareConfig& config, std::int32_t zero_point,
                          float multiplier, const SplitMultiplier& split) {
  const bool requant = spec.epilogue.form == Form::requant;
  const std::int64_t count = requant ? 2 : 4;
  NdArray constants(DType::int32, {config.batch, config.block_out, count});
  const std::int32_t half = split.fraction_bits == 0 ? 0 : (std::int32_t{1} << (split.fraction_bits - 1)) - 1;
  for (std::int64_t i = 0; i < config.batch * config.block_out; ++i) {
    std::int32_t* row = &constants.data<std::int32_t>()[static_cast<std::size_t>(i * count)];
    const std::int32_t with_requant[] = {std::bit_cast<std::int32_t>(multiplier), -zero_point},
                       without[] = {-zero_point, split.integer, split.fraction, half};
    std::copy_n(requant ? with_requant : without, count, row);
  }
  return constants;
}

}  // namespace dovetail::accel
