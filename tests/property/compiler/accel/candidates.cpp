// Every schedule that a search may draw computes the values of the task's program on the cycle simulator, and has the
// same cost each time. Random operations on every named configuration.
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/tune/sketch_space.h"
#include "explore/measure/accel.h"
#include "tests/catch.h"
#include "tests/property/compiler/accel/random_operation.h"

using namespace dovetail;
using namespace dovetail::accel;

TEST_CASE("accelerator: drawn schedules are right, or refused with a reason") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
      int measured = 0;
      // Small hardware cannot run most of them.
      for (std::uint64_t seed = 11; seed <= 14 || (measured == 0 && seed <= 40); ++seed) {
        SplitMix64 random(seed);
        const RandomOperation operation = random_operation(random, config);
        if (!smallest_tile_fits(*operation.kind, operation.program, config).ok()) continue;
        const schedule::Task task = make_task(*operation.kind, operation.program, config, intrinsics);
        const schedule::Sketch sketch = sketch_of(*operation.kind, config);
        tune::SketchSpace space(task, sketch);
        const auto measurer = explore::make_accel_measurer(config, {.workers = 1})(task);
        REQUIRE(measurer.ok());
        std::vector<tune::Candidate> candidates;
        const auto first = space.default_candidate();
        REQUIRE(first.ok());
        candidates.push_back(*first);
        for (int i = 0; i < 3; ++i)
          if (auto drawn = space.complete({}, tune::Rest::random, random)) candidates.push_back(*std::move(drawn));
        std::vector<const schedule::Scheduled*> scheduled;
        for (const tune::Candidate& candidate : candidates) scheduled.push_back(candidate.scheduled.get());
        const auto results = (*measurer)->measure(scheduled), again = (*measurer)->measure(scheduled);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          INFO("seed " << seed << ", " << candidates[i].text() << ": " << results[i].why);
          // One instruction for each pixel may not fit a small address space.
          CHECK((results[i].outcome == tune::Outcome::measured || results[i].outcome == tune::Outcome::refused));
          CHECK(results[i].outcome == again[i].outcome);
          CHECK(results[i].cost == again[i].cost);
          measured += results[i].outcome == tune::Outcome::measured;
        }
      }
      CHECK(measured > 0);
    }
  }
}
