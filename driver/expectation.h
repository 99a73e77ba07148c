// The tensors of a run against the user's own, in the order in which they are computed.
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
  double largest = 0;           // difference
  double largest_expected = 0;  // magnitude
  std::string why = {};         // the first that is beyond, or why the two cannot be compared; empty: they agree
};

struct Expectation {
  dovetail::Tolerance tolerance;        // of base/difference.h
  std::vector<ComparedTensor> tensors;  // in the order of the run
  std::vector<std::string> missing;     // expected, but not in the run

  const ComparedTensor* first() const;  // that leaves the tolerance; null: none does
};

// Names are compared as they are in files (driver/names.h). A uint8 that is expected where the run has int8 is the
// same value less 128, as in the integer form (docs/reference/quantization.md). Error: the run has none of the tensors.
Result<Expectation> compare(const std::map<std::string, NdArray>& expected, const std::vector<KeptTensor>& tensors,
                            const dovetail::Tolerance& tolerance);

}  // namespace dovetail::driver
