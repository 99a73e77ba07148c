#include "bench/cuda/measure.h"

#include <algorithm>
#include <vector>

#include "bench/cuda/clock.h"

namespace dovetail::bench {
namespace {

// Precondition: sorted. 0 if empty.
double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

}  // namespace

Result<std::vector<Timing>> measure_alternating(std::span<const Contender> contenders, const Effort& effort) {
  // At least two: a program's first run launches its steps one by one, the second captures them.
  double begin = wall_seconds();
  for (int round = 0; round < 2 || wall_seconds() - begin < effort.warm_seconds; ++round)
    for (const Contender& contender : contenders) DOVETAIL_TRY(contender.run());
  std::vector<std::vector<double>> kernels(contenders.size()), latencies(contenders.size());
  begin = wall_seconds();
  int samples = 0;
  for (; samples < effort.samples && (samples < effort.least_samples || wall_seconds() - begin < effort.most_seconds);
       ++samples)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      // The order alternates between rounds, so that no contender always follows the same one.
      const std::size_t at = samples % 2 == 0 ? i : contenders.size() - 1 - i;
      DOVETAIL_ASSIGN(const Run run, contenders[at].run());
      latencies[at].push_back(run.latency_seconds);
      if (run.kernel_seconds) kernels[at].push_back(*run.kernel_seconds);
    }
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    std::ranges::sort(kernels[i]);
    std::ranges::sort(latencies[i]);
    timings.push_back({percentile(kernels[i], 0.5), percentile(latencies[i], 0.5), percentile(kernels[i], 0.1),
                       percentile(kernels[i], 0.9), samples});
  }
  return timings;
}

}  // namespace dovetail::bench
