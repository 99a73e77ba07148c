// Groups repeated texts with a count. Texts that differ only in their numbers count as equal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace dovetail::cli {

// Each distinct text, as it first occurred, with its number of occurrences; the most frequent first.
std::vector<std::pair<std::string, std::size_t>> counted(const std::vector<std::string>& texts);

// Of diagnostics that differ only in their place and numbers, the first is returned; its place then states their number
// and names the first few places.
Diagnostics grouped(const Diagnostics& diagnostics);

}  // namespace dovetail::cli
