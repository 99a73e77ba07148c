// Deterministic randomness: the same seed gives the same stream with every compiler and library, unlike distributions
// of std.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "base/random.h"

namespace dovetail::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}

  std::uint64_t bits() { return bits_.next(); }
  // Uniform up to a bias of 2^-32 for the small bounds used here. Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return bits() % bound; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + below(most - least + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return *std::next(choices.begin(), static_cast<std::ptrdiff_t>(below(choices.size())));
  }

 private:
  SplitMix64 bits_;
};

}  // namespace dovetail::test
