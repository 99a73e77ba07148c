// Pseudo-random weights that are the same on every platform: integers and one multiplication, without functions of the
// mathematical library.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ndarray.h"
#include "base/random.h"

namespace dovetail::zoo {

class Random {
 public:
  // Every tensor has its own stream, so that a change of one layer does not affect the weights of the others.
  Random(std::uint64_t seed, std::string_view name);

  std::uint64_t next() { return bits_.next(); }
  // Approximately normal, mean 0, deviation 1: the sum of four uniform 16-bit numbers (Irwin-Hall), within ±3.47.
  double normal();
  // Uniform in steps of 1/1000.
  double uniform(int least_thousandths, int greatest_thousandths);

 private:
  SplitMix64 bits_;
};

NdArray normal_array(Shape shape, double deviation, Random random);
NdArray uniform_array(Shape shape, int least_thousandths, int greatest_thousandths, double factor, Random random);

}  // namespace dovetail::zoo
