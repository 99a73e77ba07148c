// The clock model: the fit, its error on held-back runs, and what it refuses.
#include "explore/area/clock_model.h"

#include <cmath>

#include "explore/sweep/space.h"
#include "isa/config.h"
#include "tests/catch.h"

namespace dovetail::explore {

namespace {

// Periods of 12 ns, with 1 ns for each doubling of multipliers and 2 ns for REQUANT. `off`: by how much the held-back
// runs are slower than that.
ClockRuns made_runs(double off) {
  ClockRuns made{"LFE5U-85F-6", "nextpnr-0.11.1", {}};
  for (int i = 0; i < 16; ++i) {
    ClockRun run{isa::load_config("tiny").value(), 0, i % 4 == 3};
    run.hardware.block_in = std::int64_t{2} << i % 3;
    run.hardware.block_out = std::int64_t{2} << i / 3 % 3;
    run.hardware.requant = i >= 9;
    const double macs = static_cast<double>(run.hardware.block_in * run.hardware.block_out);
    const double period = 12 + std::log2(macs) + (run.hardware.requant ? 2 : 0);
    run.clock_mhz = 1e3 / (period * (run.held_back ? 1 + off : 1));
    made.runs.push_back(run);
  }
  return made;
}

isa::HardwareConfig tiny_with(std::int64_t block_out) {
  isa::HardwareConfig config = isa::load_config("tiny").value();
  config.block_out = block_out;
  return config;
}

}  // namespace

TEST_CASE("clock model: fits periods, and rounds clocks to a tenth") {
  const ClockModel model = ClockModel::fit(made_runs(0), "made").value();
  CHECK(model.is_on());
  CHECK(model.error(true).most < 1e-4);
  CHECK(model.clock_mhz(tiny_with(4)).value() == 62.5);  // 16 ns
  CHECK(model.clock_mhz(tiny_with(8)).value() == 58.8);  // 17 ns
  CHECK(
      model.text() ==
      "a model of 12 runs of nextpnr-0.11.1 for LFE5U-85F-6, off by 0.0 % on average, 0.0 % at most, on 4 other runs");
}

TEST_CASE("clock model: stays off if it is off by more than 15 % on a held-back run") {
  CHECK(ClockModel::fit(made_runs(0.14), "made").value().is_on());
  const ClockModel model = ClockModel::fit(made_runs(0.18), "made").value();
  CHECK(!model.is_on());
  CHECK(model.clock_mhz(tiny_with(4)).errors().front().why ==
        "it is off by 18.0 % at most on runs that it was not fitted to, more than 15 %");
}

TEST_CASE("clock model: refuses designs beyond its runs, and too few runs") {
  const ClockModel model = ClockModel::fit(made_runs(0), "made").value();
  const auto why = [&](const isa::HardwareConfig& config) { return model.clock_mhz(config).errors().front().why; };
  CHECK(why(tiny_with(32)).find("128 multipliers (runs have 4 to 64)") != std::string::npos);
  isa::HardwareConfig other = tiny_with(4);
  other.saturate = true;
  CHECK(why(other) == "the design is beyond its runs: saturate (no run has it)");
  ClockRuns few = made_runs(0);
  few.runs.resize(12);
  CHECK(ClockModel::fit(few, "few.json").errors().front().why ==
        "9 runs for the fit and 3 others are too few: 12 and 4 are needed");
}

TEST_CASE("a space with a clock model") {
  const auto parsed = [](const char* text) {
    return Space::parse(parse_json(text, "space.json").value(), "space.json");
  };
  const auto error = [&](const char* text) { return parsed(text).errors().front(); };
  CHECK(error(R"({"clock": 5, "axes": {"bus_bytes": [8, 16]}})").why == "5 is not the name of a clock model");
  CHECK(error(R"({"clock": "ice40", "axes": {"bus_bytes": [8, 16]}})").why == "the models are: ecp5");
  CHECK(error(R"({"clock": "ecp5", "axes": {"clock_mhz": [50, 60]}})").why ==
        "the axis clock_mhz gives the points other clocks");
  CHECK(!parsed(R"({"axes": {"bus_bytes": [8, 16]}})").value().clock_model());
}

}  // namespace dovetail::explore
