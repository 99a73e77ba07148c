// Who counts the cycles of schedules, for the choice of count_cycles.h. The compiler includes no simulator: callers
// hand one in (explore/measure/count_cycles.h).
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/accel.h"

namespace dovetail::accel {

// The cycles that the program takes from power-up, with `memory` to itself. Called for programs that nobody has proven.
// Error: it does not end.
using CountCycles =
    std::function<Result<std::uint64_t>(const bundle::AccelCode& code, const bundle::MemorySpace& memory)>;

struct Counting {
  CountCycles count = nullptr;
  int candidates = 1;  // schedules of each task, the default among them; 1: only what records are worth is counted
};

}  // namespace dovetail::accel
