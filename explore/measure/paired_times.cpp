#include "explore/measure/paired_times.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <span>
#include <vector>

#include <sys/resource.h>

namespace dovetail::explore {

namespace {

constexpr double kOwnWarmUpSeconds = 0.005;
constexpr int kFirstRuns = 5;
constexpr double kLostPart = 0.05,
                 kLostSeconds = 10e-6;  // part of a sample's wall time in which another job had the processor
constexpr int kMostAttempts = 3;        // attempts for each required pair

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// How often another job took the processor from a thread of this process. Sleeping threads do not count.
long involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

struct Sample {
  double seconds = 0;  // time of one run
  bool disturbed = false;
};

// One of the two kernels.
class Timed {
 public:
  Timed(const std::function<void()>& run, const PairOptions& options)
      : run_(run), clocks_(options.clocks), threads_(options.threads) {
    // The best of a few runs: a disturbed run would make the samples too short.
    double once = sample_of(1).seconds, passed = once;
    for (int i = 1; i < kFirstRuns && passed < kOwnWarmUpSeconds; ++i) {
      const double again = sample_of(1).seconds;
      once = std::min(once, again), passed += again;
    }
    runs_ = std::clamp(static_cast<int>(std::ceil(options.sample_seconds / std::max(once, 1e-7))), 1, 100'000);
    warms_up_ = once * runs_ < kOwnWarmUpSeconds;
    sample_seconds_ = once * (runs_ + (warms_up_ ? 1 : 0));
  }

  double sample_seconds() const { return sample_seconds_; }  // about
  Sample sample() const {
    if (warms_up_) run_();
    return sample_of(runs_);
  }

 private:
  Sample sample_of(int runs) const {
    const long switches = threads_ > 1 ? clocks_.switches() : 0;
    const double wall = clocks_.wall(), processor = clocks_.processor();
    for (int i = 0; i < runs; ++i) run_();
    const double busy = clocks_.processor() - processor, passed = clocks_.wall() - wall;
    const bool lost = passed - busy > kLostPart * passed + kLostSeconds;
    if (threads_ > 1) return {passed / runs, lost || clocks_.switches() != switches};
    return {busy / runs, lost};
  }

  const std::function<void()>& run_;
  const Clocks& clocks_;
  int threads_, runs_ = 1;
  bool warms_up_ = true;
  double sample_seconds_ = 0;
};

struct Pair {
  Sample first, second;
  double ratio() const { return second.seconds / std::max(first.seconds, 1e-12); }
  bool disturbed() const { return first.disturbed || second.disturbed; }
};

std::vector<double> sorted_ratios(const std::vector<Pair>& pairs) {
  std::vector<double> ratios;
  for (const Pair& pair : pairs) ratios.push_back(pair.ratio());
  std::ranges::sort(ratios);
  return ratios;
}

// The mean of the middle half: it ignores outliers, and uses more of the other samples than a median.
double typical_ratio(const std::vector<double>& ratios) {
  const auto outside = static_cast<std::ptrdiff_t>((ratios.size() + 1) / 4);
  const std::span middle(ratios.begin() + outside, ratios.end() - outside);
  return std::accumulate(middle.begin(), middle.end(), 0.0) / static_cast<double>(middle.size());
}

}  // namespace

Clocks machine_clocks() {
  return {[] { return seconds_of(CLOCK_MONOTONIC); }, [] { return seconds_of(CLOCK_THREAD_CPUTIME_ID); },
          involuntary_switches};
}

PairedTimes time_in_pairs(const std::function<void()>& first, const std::function<void()>& second,
                          const PairOptions& options) {
  const Timed one(first, options), other(second, options);
  const double pair_seconds = one.sample_seconds() + other.sample_seconds();
  const int enough =
      static_cast<int>(std::clamp(options.seconds / std::max(pair_seconds, 1e-7),
                                  static_cast<double>(options.least_pairs), static_cast<double>(options.most_pairs)));
  std::vector<Pair> undisturbed, all;
  const auto counted = [&]() -> const std::vector<Pair>& { return undisturbed.size() >= 2 ? undisturbed : all; };
  const auto is_enough = [&] {
    return static_cast<int>(undisturbed.size()) >= enough || static_cast<int>(all.size()) >= kMostAttempts * enough ||
           (all.size() >= 2 && std::ranges::min(counted(), {}, &Pair::ratio).ratio() > options.hopeless);
  };
  while (!is_enough()) {
    Pair pair;
    // The kernels alternate in being first, so that drift from the first sample of a pair to the second cancels too.
    if (all.size() % 2 == 0) pair.first = one.sample();
    pair.second = other.sample();
    if (all.size() % 2 == 1) pair.first = one.sample();
    all.push_back(pair);
    if (!pair.disturbed()) undisturbed.push_back(pair);
  }
  const auto best = std::ranges::min_element(counted(), {}, [](const Pair& pair) { return pair.first.seconds; });
  const std::vector<double> ratios = sorted_ratios(counted());
  const auto percentile = [&](double share) {
    return ratios[static_cast<std::size_t>(std::lround(share * static_cast<double>(ratios.size() - 1)))];
  };
  return {best->first.seconds, typical_ratio(ratios), static_cast<int>(ratios.size()), percentile(0.1),
          percentile(0.9)};
}

}  // namespace dovetail::explore
