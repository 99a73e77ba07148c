// The number of iterations of a pipelined loop in flight: an annotation of the loop.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "loops/ir.h"

namespace dovetail::loops {

inline constexpr const char* kStages = "stages";

// The integer that an annotation gives. nullopt: it is missing, or not an integer of at least `least`.
inline std::optional<std::int64_t> count_of(const Annotations& annotations, const std::string& key,
                                            std::int64_t least) {
  const auto found = annotations.find(key);
  if (found == annotations.end()) return std::nullopt;
  std::int64_t count = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [rest, error] = std::from_chars(found->second.data(), end, count);
  return error == std::errc{} && rest == end && count >= least ? std::optional(count) : std::nullopt;
}
inline std::optional<std::int64_t> stages_of(const Annotations& annotations) {
  return count_of(annotations, kStages, 2);
}

}  // namespace dovetail::loops
