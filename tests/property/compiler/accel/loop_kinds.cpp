// Virtual threads and pipelined loops on the accelerator keep the values of the task's program. Random operations on
// every named configuration.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/schedule/schedule.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "explore/measure/accel.h"
#include "loops/print.h"
#include "tests/catch.h"
#include "tests/property/compiler/accel/random_operation.h"

using namespace dovetail;
using namespace dovetail::accel;

namespace {

// The schedule followed by these steps; nullopt where one of them is refused.
std::optional<schedule::Scheduled> with(const schedule::Scheduled& base, const schedule::Task& task,
                                        const std::vector<schedule::Step>& steps) {
  schedule::Schedule schedule(task.program, *task.intrinsics);
  REQUIRE(schedule.replay(base.trace).ok());
  for (const schedule::Step& step : steps)
    if (!schedule.apply(step).ok()) return std::nullopt;
  schedule::Scheduled result = base;
  result.program = schedule.program();
  return result;
}

}  // namespace

TEST_CASE("accelerator: virtual threads and pipelined loops keep the values") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
      int measured = 0;
      for (std::uint64_t seed = 31; seed <= 36; ++seed) {
        SplitMix64 random(seed);
        const RandomOperation operation = random_operation(random, config);
        if (!smallest_tile_fits(*operation.kind, operation.program, config).ok()) continue;
        const schedule::Task task = make_task(*operation.kind, operation.program, config, intrinsics);
        schedule::Decisions small;
        for (const char* name : {"tile_o", "tile_c", "tile_n", "tile_y", "tile_x"}) small[name] = "1";
        const auto base = schedule::run(sketch_of(*operation.kind, config), task, small);
        REQUIRE(base.ok());
        std::vector<schedule::Scheduled> candidates;
        for (const std::string loop : {"out.o_t", "out.y_t", "out.x_t"}) {
          const std::string halves = loop + ".v";
          for (const std::vector<schedule::Step>& steps :
               {std::vector<schedule::Step>{{"split", {loop, "2"}, {loop + ".r", halves}}, {"vthread", {halves}, {}}},
                std::vector<schedule::Step>{{"pipeline", {loop, "2"}, {}}}})
            if (auto candidate = with(*base, task, steps)) candidates.push_back(*std::move(candidate));
        }
        const auto measurer = explore::make_accel_measurer(config, {.workers = 1})(task);
        REQUIRE(measurer.ok());
        for (const schedule::Scheduled& candidate : candidates) {
          const schedule::Scheduled* one[] = {&candidate};
          const tune::Measurement result = (*measurer)->measure(one).front();
          INFO("seed " << seed << ": " << result.why << "\n" << loops::to_string(candidate.program));
          CHECK((result.outcome == tune::Outcome::measured || result.outcome == tune::Outcome::refused));
          measured += result.outcome == tune::Outcome::measured;
        }
      }
      CHECK(measured > 0);
    }
  }
}

// Geometric means over random operations whose tiles are one block of channels in one row: `-s` prints them.
TEST_CASE("accelerator: two virtual threads hide latency where there is one slot, two slots hide more") {
  const isa::HardwareConfig config = isa::load_config("1x16x16-ext").value();
  const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
  enum { slot, threads, slots, slots_and_threads, kinds };
  std::array<double, kinds> logarithms{};
  int operations = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SplitMix64 random(seed);
    const RandomOperation operation = random_operation(random, config);
    if (!smallest_tile_fits(*operation.kind, operation.program, config).ok()) continue;
    const schedule::Task task = make_task(*operation.kind, operation.program, config, intrinsics);
    const auto measurer = explore::make_accel_measurer(config, {.workers = 1})(task);
    REQUIRE(measurer.ok());
    const auto cycles_of = [&](const schedule::Scheduled& scheduled) {
      const schedule::Scheduled* one[] = {&scheduled};
      return (*measurer)->measure(one).front().cost;
    };
    std::array<double, kinds> cycles;
    cycles.fill(std::numeric_limits<double>::infinity());
    for (const int count : {1, 2}) {
      schedule::Decisions decisions{{"tile_o", "1"}, {"tile_n", "1"}, {"tile_y", "1"}};
      for (const char* name : {"slots_inp", "slots_wgt", "slots_acc"}) decisions[name] = std::to_string(count);
      const auto base = schedule::run(sketch_of(*operation.kind, config), task, decisions);
      if (!base.ok()) continue;
      cycles[count == 1 ? slot : slots] = cycles_of(*base);
      double& best = cycles[count == 1 ? threads : slots_and_threads];
      for (const std::string loop : {"out.o_t", "out.n_t", "out.y_t"})
        if (const auto candidate =
                with(*base, task, {{"split", {loop, "2"}, {loop + ".r", loop + ".v"}}, {"vthread", {loop + ".v"}, {}}}))
          best = std::min(best, cycles_of(*candidate));
    }
    if (!std::ranges::all_of(cycles, [](double each) { return std::isfinite(each); })) continue;
    for (int kind = 0; kind < kinds; ++kind) logarithms[kind] += std::log(cycles[kind] / cycles[slot]);
    ++operations;
  }
  REQUIRE(operations > 10);
  const auto of_one_slot = [&](int kind) { return std::exp(logarithms[kind] / operations); };
  CHECK(of_one_slot(threads) < 0.9);
  CHECK(of_one_slot(slots) < of_one_slot(threads) - 0.05);
  CHECK(of_one_slot(slots_and_threads) < of_one_slot(slots) + 0.01);
}
