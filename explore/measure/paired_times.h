// How long one kernel takes alongside another. Their samples alternate, in pairs, so that what the machine does
// meanwhile (its clock, other jobs) meets both, and cancels in their ratio.
//
// What is compared is the processor time of the calling thread where one thread runs the kernels: it does not count
// while another job has the processor. A sample during which that happened, by more than a twentieth of its time on the
// wall, is dropped with its pair all the same, as the caches are then the other job's; where fewer than two pairs
// remain of three times as many as were required, the machine is never ours, and all pairs count. Short samples are
// disturbed less often, and many of them say more than a few long ones.
//
// Kernels of several threads are compared by wall time, as the system does not always book the time of all threads
// before the next sample. A sample is dropped where any of them has lost its processor to another job. On a busy
// machine little remains: costs of several threads need a machine that is otherwise idle.
//
// Every sample begins with a run that is not timed, so that memory is in the caches as far as it fits: both kernels are
// measured warm. (Samples of more than a few milliseconds are their own warm-up.)
#pragma once

#include <functional>

namespace dovetail::explore {

// What is asked of the machine around each sample. Tests hand in a machine that they invent.
struct Clocks {
  std::function<double()> wall;       // seconds
  std::function<double()> processor;  // seconds that the calling thread has had a processor
  std::function<long()> switches;     // times that another job took the processor from a thread of this process
};
Clocks machine_clocks();

struct PairOptions {
  int threads = 1;
  double sample_seconds = 0.0002;  // a sample lasts that long at least, or one run
  double seconds = 0.1;            // of all pairs together, about
  int least_pairs = 3, most_pairs = 25;
  // Where the second was that much slower than the first in every pair, of two or more, there are no further ones.
  double hopeless = 1.5;
  Clocks clocks = machine_clocks();
};

struct PairedTimes {
  double seconds = 0;  // of one run of the first: its best sample
  double ratio = 1;    // of the second's time to the first's: the mean of the middle half of the pairs
  int pairs = 0;       // that count
};

// Precondition: both have been run once.
PairedTimes time_in_pairs(const std::function<void()>& first, const std::function<void()>& second,
                          const PairOptions& options);

}  // namespace dovetail::explore
