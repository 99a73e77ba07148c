#include "explore/measure/paired_times.h"

#include <unistd.h>

#include "tests/catch.h"

using namespace dovetail::explore;

namespace {

void spin(int rounds) {
  volatile int sum = 0;
  for (int i = 0; i < rounds; ++i) sum = sum + i;
}

// Other jobs can spoil any single attempt.
bool in_some_attempt(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 5; ++attempt)
    if (holds()) return true;
  return false;
}

}  // namespace

TEST_CASE("paired times: equal kernels take equal time, short ones and long ones") {
  for (const int rounds : {1000, 300'000}) {
    const auto kernel = [&] { spin(rounds); };
    CAPTURE(rounds);
    CHECK(in_some_attempt([&] {
      const PairedTimes times = time_in_pairs(kernel, kernel, {.seconds = 0.03});
      CHECK(times.seconds > 0);
      CHECK(times.pairs >= 2);
      CHECK(times.pairs <= 25);
      return times.ratio > 0.8 && times.ratio < 1.25;
    }));
  }
}

TEST_CASE("paired times: one that is clearly slower is not repeated for long") {
  int runs = 0;
  const PairedTimes times = time_in_pairs([] { spin(100'000); }, [&] { spin(1'000'000), ++runs; }, {.seconds = 1});
  CHECK(times.ratio > 3);
  CHECK(runs <= 20);
}

TEST_CASE("paired times: of one thread the processor's time counts, of several that on the wall") {
  // Long beside what it costs a processor to wake up.
  const auto busy = [] { spin(2'000'000); };
  const auto resting = [] { spin(2'000'000), ::usleep(20'000); };
  CHECK(in_some_attempt([&] { return time_in_pairs(busy, resting, {.seconds = 0.02}).ratio < 1.3; }));
  CHECK(time_in_pairs(busy, resting, {.threads = 2, .seconds = 0.02}).ratio > 3);
}
