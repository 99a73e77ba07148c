// Medians of contenders with alternating runs, on a warm device.
#pragma once

#include <span>

#include "base/json.h"
#include "bench/cuda/contender.h"

namespace dovetail::bench {

struct Effort {
  int samples = 30;           // at most, per contender
  int least_samples = 5;      // regardless of their duration
  double warm_seconds = 0.5;  // of untimed runs, until clocks have risen
  double most_seconds = 20;   // of all timed runs of a case
};

struct Timing {
  double kernel_seconds = 0, latency_seconds = 0;  // medians; 0: unknown
  double kernel_low = 0, kernel_high = 0;          // tenth and ninetieth percentile
  int samples = 0;
};
// Per contender. Error: one of them fails.
Result<std::vector<Timing>> measure_alternating(std::span<const Contender> contenders, const Effort& effort);

}  // namespace dovetail::bench
