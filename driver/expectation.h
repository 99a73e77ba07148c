// Compares the tensors of a run with the user's tensors, in the order in which they are computed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/difference.h"
#include "base/result.h"
#include "driver/kept_tensors.h"

namespace dovetail::driver {

struct ComparedTensor {
  std::string name, step;
  std::int64_t elements = 0;
  std::int64_t beyond = 0;      // elements that differ by more than the tolerance
  double largest = 0;           // largest difference
  double largest_expected = 0;  // largest magnitude
  std::string why = {};  // the first element that differs, or why the tensors cannot be compared; empty: they agree
};

struct Expectation {
  dovetail::Tolerance tolerance;        // base/difference.h
  std::vector<ComparedTensor> tensors;  // in the order of the run
  std::vector<std::string> missing;     // expected, but not in the run

  const ComparedTensor* first() const;  // the first tensor outside the tolerance; null: there is none
};

// Names are compared in their form in files (driver/names.h). An expected uint8 is compared with the run's int8 after
// subtracting 128, as in the integer form (docs/reference/quantization.md). Error: the run has none of the tensors.
Result<Expectation> compare(const std::map<std::string, NdArray>& expected, const std::vector<KeptTensor>& tensors,
                            const dovetail::Tolerance& tolerance);

}  // namespace dovetail::driver
