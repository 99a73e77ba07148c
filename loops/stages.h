// The number of iterations of a pipelined loop in flight: an annotation of the loop.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>

#include "loops/ir.h"

namespace dovetail::loops {

inline constexpr const char* kStages = "stages";

// nullopt: the annotation is missing, or not an integer of at least 2.
inline std::optional<std::int64_t> stages_of(const Annotations& annotations) {
  const auto found = annotations.find(kStages);
  if (found == annotations.end()) return std::nullopt;
  std::int64_t stages = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [rest, error] = std::from_chars(found->second.data(), end, stages);
  return error == std::errc{} && rest == end && stages >= 2 ? std::optional(stages) : std::nullopt;
}

}  // namespace dovetail::loops
