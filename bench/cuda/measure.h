// Medians of contenders whose runs alternate, on a device that is warm.
#pragma once

#include <span>

#include "base/json.h"
#include "bench/cuda/contender.h"

namespace dovetail::bench {

struct Effort {
  int samples = 30;           // at most, of each contender
  int least_samples = 5;      // however long they take
  double warm_seconds = 0.5;  // of runs that do not count, so that clocks have risen
  double most_seconds = 20;   // of all runs of a case that count
};

struct Timing {
  double kernel_seconds = 0, latency_seconds = 0;  // medians; 0: unknown
  double kernel_low = 0, kernel_high = 0;          // tenth and ninetieth percentile
  int samples = 0;
};
// By contender. Error: one of them fails.
Result<std::vector<Timing>> measure_alternating(std::span<const Contender> contenders, const Effort& effort);

}  // namespace dovetail::bench
