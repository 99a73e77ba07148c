// Operators that are deliberately not supported, with the reason.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace dovetail::import {

struct RefusedOperators {
  std::vector<std::string_view> ops;
  std::string_view why, hint;
};
std::span<const RefusedOperators> refused_operators();
// Null if `op` is not one of them.
const RefusedOperators* find_refused(std::string_view op);

}  // namespace dovetail::import
