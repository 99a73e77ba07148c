#include "cli/report/latency_text.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;
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

TEST_CASE("a latency as text and JSON") {
  runtime::RunResult run;
  run.steps = {step("quantize", "host", 2e-6), step("region0", "accel", 0.25, {700, 300}), step("softmax", "cpu", 3e-6),
               step("region1", "accel", 0.5, {4000})};
  const std::vector<StepTime> times = step_times(run, kSystem);
  const Latency latency = latency_of(times);
  CHECK(latency_text(latency, kSystem, "measured once") ==
        "latency       0.055 ms, 18,182 inferences/s\n"
        "  accelerator 5,000 cycles = 0.05 ms at 100 MHz, in 2 steps\n"
        "  host        0.005 ms in 2 steps on this machine, measured once\n"
        "  simulating  took 750 ms (not included)\n");
  const Json json = latency_json(latency, kSystem);
  CHECK(json["ms"].get<double>() == Approx(0.055));
  CHECK(json["inferences_per_second"].get<double>() == Approx(18181.8).epsilon(1e-4));
  CHECK(json["cycles"] == 5000);
}

TEST_CASE("no latency as text and JSON") {
  runtime::RunResult run;
  run.steps = {step("region0", "accel", 0.25), step("softmax", "cpu", 3e-6)};
  const Latency latency = latency_of(step_times(run, kSystem));
  CHECK(latency_json(latency, kSystem).is_null());
  CHECK(latency_text(latency, kSystem, "measured once") ==
        "latency       unknown: the engine does not count cycles; --engine cycle does\n");
  Json row;
  add_time(row, step_times(run, kSystem)[0]);
  CHECK(row == Json{{"simulating_ms", 250.0}});
}

TEST_CASE("milliseconds and rates keep four digits") {
  CHECK(milliseconds_text(12.3456) == "12346 ms");
  CHECK(milliseconds_text(0.0123456) == "12.35 ms");
  CHECK(milliseconds_text(1.5e-9) == "0.0000015 ms");
  CHECK(rate_text(0.5) == "2");
  CHECK(rate_text(1e-6) == "1,000,000");
  CHECK(rate_text(0) == "-");
  CHECK(cycles_text(12'500, 500) == "12,500 cycles = 0.025 ms at 500 MHz, 40,000/s");
}

TEST_CASE("an estimate as text and JSON") {
  PlacementSummary summary;
  summary.regions = {
      {"region0", "accel", 3, {.seconds = 20e-6, .cycles = 2000}, 1e-6, {}, 0, 0},
      {"region1", "cpu", 1, {.seconds = 4e-6}, 0, {}, 0, 0},
  };
  CHECK(estimate_text(summary, kSystem) ==
        "estimate      0.025 ms, 40,000 inferences/s\n"
        "  accelerator 2,000 cycles = 0.02 ms at 100 MHz, in 1 region\n"
        "  host        0.004 ms in 1 region\n"
        "  borders     0.001 ms\n"
        "\n");
  CHECK(estimate_text({}, kSystem).empty());
  CHECK(estimate_json(summary, kSystem)["ms"].get<double>() == Approx(0.025));
}

TEST_CASE("the time of all steps by target on one line") {
  runtime::RunResult run;
  run.steps = {step("quantize", "cpu", 30e-6), step("region0", "accel", 0.25, {1000})};
  CHECK(time_shares_text(step_times(run, kSystem)) ==
        "time          25.00 % accel, 75.00 % cpu of the time of all steps\n");
  run.steps[1] = step("region0", "accel", 0.25);  // the engine counts no cycles
  CHECK(time_shares_text(step_times(run, kSystem)).empty());
}
