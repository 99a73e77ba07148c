// Deterministic randomness: the same seed gives the same stream with every compiler and library (std distributions do not).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace dovetail::test {

// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform up to a bias of 2^-32 for the small bounds used here. Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return bits() % bound; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + below(most - least + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return *std::next(choices.begin(), static_cast<std::ptrdiff_t>(below(choices.size())));
  }

 private:
  std::uint64_t state_;
};

}  // namespace dovetail::test
