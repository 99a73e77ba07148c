#include "bench/cpu/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

namespace dovetail::bench {
namespace {

constexpr double kSampleSeconds = 0.003;

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Times time_runs(const Candidate& candidate, int runs, int threads) {
  const double processor = processor_seconds(), wall = wall_seconds();
  for (int i = 0; i < runs; ++i) candidate.run();
  return {(processor_seconds() - processor) / runs / threads, (wall_seconds() - wall) / runs};
}

}  // namespace

double processor_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

std::vector<Times> measure_alternating(std::span<const Candidate> candidates, int samples, int threads) {
  std::vector<int> runs;
  for (const Candidate& candidate : candidates) {
    candidate.run();
    const Times once = time_runs(candidate, 1, threads);
    runs.push_back(
        std::clamp(static_cast<int>(std::ceil(kSampleSeconds / std::max(once.wall_seconds, 1e-6))), 1, 10000));
  }
  std::vector<std::vector<double>> processor(candidates.size()), wall(candidates.size());
  for (int sample = 0; sample < samples; ++sample)
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      // Threads of the previous candidate may still be spinning on the other processors; a short sleep avoids that.
      if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      for (int warm = 0; warm < (threads > 1 ? 3 : 1); ++warm) candidates[i].run();
      const Times times = time_runs(candidates[i], runs[i], threads);
      processor[i].push_back(times.processor_seconds);
      wall[i].push_back(times.wall_seconds);
    }
  std::vector<Times> medians;
  for (std::size_t i = 0; i < candidates.size(); ++i) medians.push_back({median(processor[i]), median(wall[i])});
  return medians;
}

}  // namespace dovetail::bench
