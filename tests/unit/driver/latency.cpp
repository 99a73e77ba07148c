#include "driver/latency.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;

namespace {

const System kSystem{100, "mine.json", {}, "mine.json"};

runtime::StepProfile step(const char* name, const char* target, double seconds,
                          std::vector<std::uint64_t> cycles = {}) {
  runtime::StepProfile profile{name, target, seconds, {}};
  for (const std::uint64_t launch : cycles) profile.launches.push_back({{}, {.cycles = launch, .events = {}}});
  return profile;
}

}  // namespace

TEST_CASE("the latency of a model counts every step, those of the accelerator by their cycles") {
  runtime::RunResult run;
  run.steps = {step("quantize", "host", 2e-6), step("region0", "accel", 0.25, {700, 300}), step("softmax", "cpu", 3e-6),
               step("region1", "accel", 0.5, {4000})};
  const std::vector<StepTime> times = step_times(run, kSystem);
  CHECK(times[1].cycles == 1000u);
  CHECK(times[1].seconds == Approx(10e-6));
  CHECK(times[1].simulating == 0.25);
  CHECK_FALSE(times[0].cycles);
  const Latency latency = latency_of(times);
  CHECK(latency.cycles == 5000);
  CHECK(latency.accelerator_seconds == Approx(50e-6));
  CHECK(latency.other_seconds == Approx(5e-6));
  CHECK(latency.simulating_seconds == 0.75);
}

TEST_CASE("there is no latency where the engine counts no cycles") {
  runtime::RunResult run;
  run.steps = {step("region0", "accel", 0.25), step("softmax", "cpu", 3e-6)};
  CHECK_FALSE(latency_of(step_times(run, kSystem)).complete);
}

TEST_CASE("the estimate sums up regions and borders") {
  PlacementSummary summary;
  summary.regions = {
      {"region0", "accel", 3, {.seconds = 20e-6, .cycles = 2000}, 1e-6, {}, 0, 0},
      {"region1", "cpu", 1, {.seconds = 4e-6}, 0, {}, 0, 0},
  };
  const Estimate estimate = estimate_of(summary);
  CHECK(estimate.cycles == 2000);
  CHECK(estimate.seconds() == Approx(25e-6));
  CHECK(estimate.other_regions == 1);
}

TEST_CASE("the time of all steps by target, where each step has one") {
  runtime::RunResult run;
  run.steps = {step("quantize", "cpu", 20e-6), step("region0", "accel", 0.25, {1000}), step("softmax", "cpu", 10e-6)};
  const std::vector<StepTime> times = step_times(run, kSystem);
  const auto shares = time_shares(times);
  CHECK(shares.at("cpu") == Approx(0.75));
  CHECK(shares.at("accel") == Approx(0.25));
  run.steps[1] = step("region0", "accel", 0.25);  // the engine counts no cycles
  CHECK(time_shares(step_times(run, kSystem)).empty());
  CHECK(time_shares({}).empty());
}
