// Times of several candidates under equal conditions: their samples alternate, so that other load on the machine
// affects all of them.
#pragma once

#include <span>
#include <vector>

#include "bench/cpu/candidate.h"

namespace dovetail::bench {

struct Times {
  double processor_seconds = 0;  // per run, of the whole process, divided by the number of threads
  double wall_seconds = 0;
  // The compared time: with one thread processor time, which other jobs do not affect. With several threads, the kernel
  // does not always account all of it (observed: only the first thread's), so wall time is used, on an otherwise idle
  // machine.
  double compared_seconds(int threads) const { return threads == 1 ? processor_seconds : wall_seconds; }
};

double processor_seconds();  // of the whole process, so far
double wall_seconds();

// Medians over `samples`, per candidate. Each sample begins with an untimed run and lasts at least a few milliseconds.
std::vector<Times> measure_alternating(std::span<const Candidate> candidates, int samples, int threads);

}  // namespace dovetail::bench
