// What a child process that has checked and timed a candidate alongside the default schedule answers, and what the
// search makes of it.
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
  double seconds = 0;      // of a run of the default
  double ratio = 0;        // the candidate's to it
  std::string wrong = {};  // why its results are; empty: they are right
};
std::vector<std::byte> to_answer(const CheckedTiming& timing);
// Precondition: the child has returned such an answer.
CheckedTiming timing_of(const ChildEnd& end);
bool has_timing(const ChildEnd& end);

tune::Measurement measurement_of(const ChildEnd& end, const ChildLimits& limits, double default_seconds);

// How far results may be from the reference: floats by kMachineCodeTolerance; integers that are rounded from sums of
// float products, which have no fixed order, by one.
Tolerance tolerance_of(const loops::Program& program);

}  // namespace dovetail::explore
