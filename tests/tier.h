// The two tiers of the tests, in C++: the rule of tools/tier.py.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/hash.h"

namespace dovetail::test {

// False: the fixed sample of ./dev test is judged, DOVETAIL_TESTS=sample.
inline bool judges_everything() {
  const char* tier = std::getenv("DOVETAIL_TESTS");
  return tier == nullptr || std::string_view(tier) != "sample";
}

// Whether this tier judges the item. Of many items the sample has about one in `of`, always the same ones: the hash of
// the name decides.
inline bool is_judged(std::string_view item, std::uint64_t of) {
  return judges_everything() || (fnv1a(item) * 0x9e3779b97f4a7c15u >> 32) % of == 0;
}

}  // namespace dovetail::test
