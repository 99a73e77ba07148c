// The result of a child process that checked a candidate and timed it paired with the default schedule, and its
// conversion to the search's measurement.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/difference.h"
#include "compiler/tune/measure.h"
#include "explore/measure/child.h"
#include "loops/ir.h"

namespace dovetail::explore {

struct CheckedTiming {
  double seconds = 0;      // time of a run of the default
  double ratio = 0;        // the candidate's time divided by the default's
  std::string wrong = {};  // why the results are wrong; empty: they are right
};
std::vector<std::byte> to_answer(const CheckedTiming& timing);
// Precondition: the child returned such an answer.
CheckedTiming timing_of(const ChildEnd& end);
bool has_timing(const ChildEnd& end);

tune::Measurement measurement_of(const ChildEnd& end, const ChildLimits& limits, double default_seconds);

// The tolerance of results: floats by kMachineCodeTolerance; integers that are rounded from sums of float products,
// which have no fixed order, by one.
Tolerance tolerance_of(const loops::Program& program);

}  // namespace dovetail::explore
