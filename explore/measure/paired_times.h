// Times one kernel relative to another. Their samples alternate in pairs, so that changes of the machine (its clock,
// other jobs) affect both, and cancel in their ratio.
//
// If one thread runs the kernels, the processor time of the calling thread is compared: it does not count while another
// job has the processor. A sample in which that happened for more than a twentieth of its wall time is dropped with its
// pair anyway, since the other job used the caches. If fewer than two of three times the required number of pairs
// remain, the machine is always busy, and all pairs count. Short samples are disturbed less often, and many of them are
// better than a few long ones.
//
// Kernels of several threads are compared by wall time, since the system does not always account the time of all
// threads before the next sample. A sample is dropped if any thread lost its processor to another job. On a busy
// machine few samples remain: costs of several threads need an otherwise idle machine.
//
// Every sample begins with a run that is not timed, so that memory is in the caches as far as it fits: both kernels are
// measured warm. (Samples longer than a few milliseconds need no warm-up.)
#pragma once

#include <functional>

namespace dovetail::explore {

// The clocks that are read around each sample. Tests pass clocks of an imaginary machine.
struct Clocks {
  std::function<double()> wall;       // seconds
  std::function<double()> processor;  // seconds for which the calling thread had a processor
  std::function<long()> switches;     // how often another job took the processor from a thread of this process
};
Clocks machine_clocks();

struct PairOptions {
  int threads = 1;
  double sample_seconds = 0.0002;  // minimum duration of a sample, which has at least one run
  double seconds = 0.1;            // approximate time of all pairs together
  int least_pairs = 3, most_pairs = 25;
  // Measuring stops when the second was slower than the first by this factor in every pair, and there are two or more.
  double hopeless = 1.5;
  Clocks clocks = machine_clocks();
};

struct PairedTimes {
  double seconds = 0;        // one run of the first, from its best sample
  double ratio = 1;          // the second's time divided by the first's: the mean of the middle half of the pairs
  int pairs = 0;             // pairs that count
  double low = 1, high = 1;  // the tenth and the ninetieth percentile of the ratios of single pairs
};

// Precondition: both have been run once.
PairedTimes time_in_pairs(const std::function<void()>& first, const std::function<void()>& second,
                          const PairOptions& options);

}  // namespace dovetail::explore
