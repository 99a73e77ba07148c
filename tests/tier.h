// The two tiers of the tests, in C++; the same rule as tools/tier.py.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/hash.h"

namespace dovetail::test {

// Returns false where only the fixed sample of ./dev test is judged, DOVETAIL_TESTS=sample.
inline bool judges_everything() {
  const char* tier = std::getenv("DOVETAIL_TESTS");
  return tier == nullptr || std::string_view(tier) != "sample";
}

// Whether this tier judges the item. The sample has about one in `of` items, always the same ones, chosen by a hash of
// the name.
inline bool is_judged(std::string_view item, std::uint64_t of) {
  return judges_everything() || (fnv1a(item) * 0x9e3779b97f4a7c15u >> 32) % of == 0;
}

}  // namespace dovetail::test
