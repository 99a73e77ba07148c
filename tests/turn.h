// What takes too long for every run is judged in turn: the rule of tools/turn.py, for tests in C++.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/hash.h"

namespace dovetail::test {

// The number of the turn; nullopt: everything is judged.
inline std::optional<std::uint64_t> turn() {
  const char* turn = std::getenv("DOVETAIL_TEST_TURN");
  if (turn == nullptr || *turn == '\0') return std::nullopt;
  return std::strtoull(turn, nullptr, 10);
}

// Whether the item is in this turn's share, one of `shares`. The names decide (their hash), so that about as many are
// in each; consecutive turns take consecutive shares. Without DOVETAIL_TEST_TURN everything is judged.
inline bool is_in_turn(std::string_view item, std::uint64_t shares) {
  const auto number = turn();
  return !number || ((fnv1a(item) >> 32) + *number) % shares == 0;
}

}  // namespace dovetail::test
