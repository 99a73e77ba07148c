// The range of values that a field can hold at one configuration, derived from the widths of the tables. Code that
// creates instructions uses this instead of restating a width, which differs between the encodings.
#pragma once

#include <compare>
#include <type_traits>

#include "isa/spec/layout.h"

namespace dovetail::isa::spec {

// Inclusive bounds; both are 0 for a field whose extension is off.
struct FieldRange {
  std::int64_t least = 0, most = 0;
  constexpr bool holds(std::int64_t value) const { return least <= value && value <= most; }
  constexpr auto operator<=>(const FieldRange&) const = default;
};

// Precondition: width < 64.
constexpr FieldRange range_of_bits(int width, bool is_signed) {
  if (width == 0) return {};
  if (!is_signed) return {0, (std::int64_t{1} << width) - 1};
  const std::int64_t half = std::int64_t{1} << (width - 1);
  return {-half, half - 1};
}

// The row of a body's field. Does not compile for a member that is not a field of that body.
template <typename Body, auto kMember>
constexpr FieldSpec field_of() {
  std::optional<FieldSpec> found;
  const auto look = [&](const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field.member)>, std::remove_cv_t<decltype(kMember)>>)
      if (field.member == kMember) found = field.spec;
  };
  std::apply([&](const auto&... field) { (look(field), ...); }, fields_of<Body>());
  return found.value();
}

// For example range_of<Load, &Load::x_size>(config).most. Walks the tables to find the encoding: callers should keep
// the result.
template <typename Body, auto kMember>
FieldRange range_of(const HardwareConfig& config) {
  constexpr FieldSpec kField = field_of<Body, kMember>();
  if (kField.enabled_by != nullptr && !(config.*kField.enabled_by)) return {};
  const Encoding encoding = config.encoding();
  return range_of_bits(bits(kField.width, encoding, depths_log2(config, encoding)), kField.is_signed);
}

}  // namespace dovetail::isa::spec
