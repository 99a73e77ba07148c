#include "explore/sweep/numerics.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/nearest.h"

namespace dovetail::explore {

namespace {

constexpr std::array<std::string_view, 5> kKeys{"calibration", "scales", "weight_scales", "weight_bits", "symmetric"};
constexpr std::array<std::string_view, 4> kMethods{"min-max", "percentile", "entropy", "mse"};
constexpr std::array<std::string_view, 2> kScales{"any", "power-of-two"}, kWeights{"per-channel", "per-tensor"};

}  // namespace

std::string Numerics::text() const {
  return fmt::format("{}-{}-{}{}{}", name(calibration), kScales[static_cast<std::size_t>(scales)],
                     weights == quantize::WeightScales::per_channel ? kWeights[0] : kWeights[1],
                     weight_bits == 8 ? "" : fmt::format("-{}bit", weight_bits), symmetric ? "-symmetric" : "");
}

std::string Numerics::options() const {
  std::string text;
  if (calibration != quantize::Method::min_max) text += fmt::format(" --calibration {}", name(calibration));
  if (scales == quantize::Scales::power_of_two) text += " --powers-of-two";
  if (weights == quantize::WeightScales::per_tensor) text += " --weights per-tensor";
  if (weight_bits != 8) text += fmt::format(" --weight-bits {}", weight_bits);
  if (symmetric) text += " --symmetric";
  return text;
}

std::span<const std::string_view> numeric_keys() { return kKeys; }

bool is_numeric(std::string_view parameter) { return std::ranges::find(kKeys, parameter) != kKeys.end(); }

Result<void> set(Numerics& numerics, std::string_view parameter, const Json& value) {
  const auto bad = [&](std::string hint) {
    return Diagnostic{"cannot read the space", std::string(parameter),
                      fmt::format("{} is not a possible value", value.dump()), std::move(hint)};
  };
  if (parameter == "symmetric") {
    if (!value.is_boolean()) return bad("write true or false");
    numerics.symmetric = value.get<bool>();
    return {};
  }
  if (parameter == "weight_bits") {
    if (value != 4 && value != 8) return bad("write 8 or 4");
    numerics.weight_bits = value.get<int>();
    return {};
  }
  const std::string word = value.is_string() ? value.get<std::string>() : value.dump();
  const auto among = [&](std::span<const std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
  };
  if (parameter == "calibration") {
    if (!among(kMethods)) return bad(isa::suggestion(word, kMethods));
    DOVETAIL_ASSIGN(numerics.calibration, quantize::parse_method(word));
  } else if (parameter == "scales") {
    if (!among(kScales)) return bad(isa::suggestion(word, kScales));
    numerics.scales = word == kScales[0] ? quantize::Scales::any : quantize::Scales::power_of_two;
  } else {
    if (!among(kWeights)) return bad(isa::suggestion(word, kWeights));
    numerics.weights = word == kWeights[0] ? quantize::WeightScales::per_channel : quantize::WeightScales::per_tensor;
  }
  return {};
}

}  // namespace dovetail::explore
