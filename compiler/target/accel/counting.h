// The function that counts cycles of schedules for count_cycles.h. The compiler does not include a simulator: callers
// pass one (explore/measure/count_cycles.h).
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/accel.h"

namespace dovetail::accel {

// The cycles that the program takes from power-up, with exclusive use of `memory`. Called for programs that are not
// verified. Error: the program does not end.
using CountCycles =
    std::function<Result<std::uint64_t>(const bundle::AccelCode& code, const bundle::MemorySpace& memory)>;

struct Counting {
  CountCycles count = nullptr;
  int candidates = 1;  // schedules of each task, including the default; 1: only records are checked by counting
};

}  // namespace dovetail::accel
