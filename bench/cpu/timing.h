// Times of several candidates under equal conditions: their samples alternate, so that what else the machine does meets
// all of them.
#pragma once

#include <span>
#include <vector>

#include "bench/cpu/candidate.h"

namespace dovetail::bench {

struct Times {
  double processor_seconds = 0;  // of one run: of the whole process, divided by the threads
  double wall_seconds = 0;
  // What is compared: one thread's processor time does not mind other jobs. Of several threads the kernel does not
  // always book all of it in time (seen: only the first thread's), so that wall time counts, on a machine that is
  // otherwise idle.
  double compared_seconds(int threads) const { return threads == 1 ? processor_seconds : wall_seconds; }
};

double processor_seconds();  // of the whole process, so far
double wall_seconds();

// Medians over `samples`, by candidate. Each sample begins with an untimed run and lasts for a few milliseconds at
// least.
std::vector<Times> measure_alternating(std::span<const Candidate> candidates, int samples, int threads);

}  // namespace dovetail::bench
