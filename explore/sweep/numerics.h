// The numeric choices of a space: how a float model is quantized for a point (docs/howto/exploring.md, «Numeric
// choices»).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "compiler/quantize/quantize.h"

namespace dovetail::explore {

// The options of `dovetail quantize`, with its defaults.
struct Numerics {
  quantize::Method calibration = quantize::Method::min_max;
  quantize::Scales scales = quantize::Scales::any;
  quantize::WeightScales weights = quantize::WeightScales::per_channel;
  int weight_bits = 8;
  bool symmetric = false;

  bool operator==(const Numerics&) const = default;

  // "min-max-any-per-channel": unique for each combination, and valid in a file's name.
  std::string text() const;
  // The options of `dovetail quantize` that differ from its defaults: " --powers-of-two --weights per-tensor".
  std::string options() const;
};

// The keys of numeric choices on a space's axes: "calibration", "scales", "weight_scales", "weight_bits", "symmetric".
std::span<const std::string_view> numeric_keys();
bool is_numeric(std::string_view parameter);
// Error: a value that the parameter does not have. Precondition: is_numeric(parameter).
Result<void> set(Numerics& numerics, std::string_view parameter, const Json& value);

}  // namespace dovetail::explore
