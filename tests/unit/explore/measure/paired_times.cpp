// The rule by which samples are taken and counted, on simulated machines: their clocks advance only by the time that a
// kernel takes, so that no test depends on the load of the real machine.
#include "explore/measure/paired_times.h"

#include "tests/catch.h"

using namespace dovetail::explore;
using Catch::Detail::Approx;

namespace {

struct Machine {
  double wall = 0, processor = 0;
  long switches = 0;

  Clocks clocks() {
    return {[this] { return wall; }, [this] { return processor; }, [this] { return switches; }};
  }
  void compute(double seconds) { wall += seconds, processor += seconds; }
  void wait(double seconds) { wall += seconds; }
  // Another job uses the processor, and leaves its data in the caches.
  void lose(double seconds) { wall += seconds, ++switches; }
};

}  // namespace

TEST_CASE("paired times: equal kernels take equal time, short ones and long ones") {
  for (const double seconds : {1e-6, 4e-4, 0.2}) {
    CAPTURE(seconds);
    Machine machine;
    const auto kernel = [&] { machine.compute(seconds); };
    const PairedTimes times = time_in_pairs(kernel, kernel, {.seconds = 0.03, .clocks = machine.clocks()});
    CHECK(times.seconds == Approx(seconds));
    CHECK(times.ratio == Approx(1));
    CHECK(times.pairs == (seconds == 1e-6 ? 25 : seconds == 4e-4 ? 18 : 3));
  }
}

TEST_CASE("paired times: a clearly slower kernel is not repeated for long") {
  Machine machine;
  int runs = 0;
  const PairedTimes times = time_in_pairs([&] { machine.compute(0.0001); }, [&] { machine.compute(0.0003), ++runs; },
                                          {.seconds = 1, .clocks = machine.clocks()});
  CHECK(times.ratio == Approx(3));
  CHECK(times.pairs == 2);
  CHECK(runs <= 20);
  // A slightly slower kernel is.
  const PairedTimes close = time_in_pairs([&] { machine.compute(0.0001); }, [&] { machine.compute(0.00014); },
                                          {.seconds = 1, .clocks = machine.clocks()});
  CHECK(close.ratio == Approx(1.4));
  CHECK(close.pairs == 25);
}

TEST_CASE("paired times: with one thread processor time counts, with several wall time") {
  Machine machine;
  const auto busy = [&] { machine.compute(0.001); };
  const auto resting = [&] { machine.compute(0.001), machine.wait(0.02); };
  CHECK(time_in_pairs(busy, resting, {.seconds = 0.02, .clocks = machine.clocks()}).ratio == Approx(1));
  CHECK(time_in_pairs(busy, resting, {.threads = 2, .seconds = 0.02, .clocks = machine.clocks()}).ratio == Approx(21));
}

TEST_CASE("paired times: disturbances of both samples of a pair cancel") {
  Machine machine;
  double slower = 1;  // the clock of the processor slows down steadily
  const auto kernel = [&](double seconds) { machine.compute(seconds * slower), slower *= 1.001; };
  const PairedTimes times =
      time_in_pairs([&] { kernel(0.001); }, [&] { kernel(0.0012); }, {.seconds = 0.05, .clocks = machine.clocks()});
  CHECK(times.ratio == Approx(1.2).epsilon(0.002));
  CHECK(slower > 1.03);
}

TEST_CASE("paired times: samples during which another job ran do not count") {
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    Machine machine;
    int run = 0;
    // Every fifth run is disturbed, and slower because of the caches.
    const auto kernel = [&] {
      const bool disturbed = ++run % 5 == 0;
      if (disturbed) machine.lose(0.004);
      machine.compute(disturbed ? 0.002 : 0.001);
    };
    const PairedTimes times =
        time_in_pairs(kernel, kernel, {.threads = threads, .seconds = 0.04, .clocks = machine.clocks()});
    CHECK(times.seconds == Approx(0.001));
    CHECK(times.ratio == Approx(1));
    CHECK(times.pairs >= 2);
  }
}

TEST_CASE("paired times: where other jobs always run, all pairs count") {
  Machine machine;
  const auto kernel = [&] { machine.lose(0.01), machine.compute(0.001); };
  const PairedTimes times = time_in_pairs(kernel, kernel, {.seconds = 0.02, .clocks = machine.clocks()});
  CHECK(times.seconds == Approx(0.001));
  CHECK(times.ratio == Approx(1));
  CHECK(times.pairs == 15);  // three attempts for each of the five that were required
}

TEST_CASE("paired times: this machine's clocks advance") {
  const Clocks clocks = machine_clocks();
  const double wall = clocks.wall(), processor = clocks.processor();
  while (clocks.processor() <= processor) {
  }
  CHECK(clocks.wall() > wall);
  CHECK(clocks.switches() >= 0);
}
