// What is said many times is said once, with a count: texts that differ in their numbers alone count as the same.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace dovetail::cli {

// Each text once, in the words in which it came first, with how often it came; the most frequent first.
std::vector<std::pair<std::string, std::size_t>> counted(const std::vector<std::string>& texts);

// Diagnostics that agree but for their place and their numbers become the first of them, whose place then says how many
// there were and names the first few.
Diagnostics grouped(const Diagnostics& diagnostics);

}  // namespace dovetail::cli
