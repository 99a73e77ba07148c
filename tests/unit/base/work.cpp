#include "base/work.h"

#include <limits>

#include "tests/catch.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a meter reports its steps in grains, and the remainder in its destructor") {
  Work work;
  {
    WorkMeter meter(&work);
    CHECK(meter.advance(WorkMeter::kGrain - 1));
    CHECK(work.done() == 0);
    CHECK(meter.advance(1));
    CHECK(work.done() == WorkMeter::kGrain);
    CHECK(meter.advance(7));
    CHECK(meter.advance_uncounted(3 * WorkMeter::kGrain));
  }
  CHECK(work.done() == WorkMeter::kGrain + 7);
}

TEST_CASE("work in progress notices within a grain that it was stopped, and why") {
  Work work;
  WorkMeter meter(&work);
  REQUIRE(work.expect("p.bin", {.steps = 1000, .seconds = 1}).ok());
  work.count(250);
  work.stop("interrupted", "nothing was written");
  work.stop("its limit of 1 s has passed", "the second reason does not count");
  CHECK(meter.advance(1));
  CHECK_FALSE(meter.advance(WorkMeter::kGrain));
  CHECK(meter.stopped());
  WorkMeter other(&work);
  CHECK_FALSE(other.advance_uncounted(WorkMeter::kGrain));
  CHECK(to_string(work.stopped_at("instruction 3")) ==
        "error: the work was stopped (instruction 3): interrupted, 1.05e+06 of 1e+03 steps done. Hint: nothing was "
        "written");
}

TEST_CASE("work beyond the limit of steps is refused before it starts, and the sum saturates") {
  Work work(1000);
  CHECK(work.expect("a", {.steps = 600}).ok());
  const auto refused = work.expect("b.bin", {.steps = 500});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()),
             ContainsSubstring("b.bin") && ContainsSubstring("1100 steps > limit of 1000 steps"));
  CHECK(work.expected().steps == 600);
  CHECK(work.expect("c", {.steps = 400}).ok());
  CHECK_FALSE(work.expect("d", {.steps = std::numeric_limits<std::uint64_t>::max()}).ok());
}

TEST_CASE("work is announced before it starts") {
  std::string announced;
  Work work(std::nullopt, [&](std::string_view what, const WorkEstimate& estimate) {
    announced = std::string(what) + " " + std::to_string(estimate.steps);
  });
  REQUIRE(work.expect("p.bin", {.steps = 12}).ok());
  CHECK(announced == "p.bin 12");
}

}  // namespace dovetail
