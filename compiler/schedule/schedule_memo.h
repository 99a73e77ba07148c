#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/recent.h"
#include "compiler/schedule/step.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::schedule {

// All that steps read of intrinsics.
std::string text_of(const loops::IntrinsicTable& intrinsics);

// Steps of a schedule, the first ones but samples.
struct KeptSteps {
  loops::Program program;  // behind them, of any name
  bool kinds_hold = false;
  std::vector<Step> steps;
  std::map<std::string, std::string> layouts;  // of parameters, index maps
  std::set<std::string> follows;
};

class ScheduleMemo : public Recent<KeptSteps> {
 public:
  // One takes 20 to 60 KiB, mostly its key and its program.
  static constexpr std::size_t kSchedules = 4096;
  explicit ScheduleMemo(std::size_t schedules = kSchedules) : Recent(schedules) {}
};

}  // namespace dovetail::schedule
