// Every target of the kit has facts.
#include "bundle/code/target_facts.h"

#include <set>
#include <string>
#include <utility>

#include "driver/targets.h"
#include "runtime/device/all.h"
#include "tests/catch.h"

using namespace dovetail;
using bundle::TargetDevice;

namespace {

bundle::Step step_of(std::string target) {
  bundle::Step step;
  step.name = "s";
  step.target = std::move(target);
  return step;
}

}  // namespace

TEST_CASE("target facts: every device, library and target of the kit has a row, and there is no other row") {
  std::set<std::string> known, rows;
  for (const driver::TargetRow& row : driver::target_table()) known.emplace(row.name());
  for (const auto& device : runtime::built_in_devices({})) {
    known.emplace(device->name());
    for (const auto& library : device->library_targets()) known.emplace(library);
  }
  known.emplace("flow");  // its device consists of the others
  for (const bundle::TargetFacts* const facts : bundle::all_target_facts()) CHECK(rows.emplace(facts->name).second);
  CHECK(rows == known);
}

TEST_CASE("target facts: the description of a step") {
  CHECK(bundle::has_clock("accel"));
  CHECK_FALSE(bundle::has_clock("cpu"));
  CHECK(bundle::runs_on(TargetDevice::gpu, "cudnn"));
  CHECK(bundle::runs_on(TargetDevice::processor, "onednn"));
  CHECK(bundle::rounds_freely(step_of("cpu")));
  CHECK_FALSE(bundle::rounds_freely(step_of("host")));
}

TEST_CASE("target facts: a user's target keeps every bit, and is described by its size") {
  bundle::Step step = step_of("c");
  step.code.resize(7);
  CHECK(bundle::find_target_facts("c") == nullptr);
  CHECK_FALSE(bundle::rounds_freely(step));
  CHECK_FALSE(bundle::has_clock("c"));
  for (const TargetDevice device : {TargetDevice::accelerator, TargetDevice::processor, TargetDevice::gpu})
    CHECK_FALSE(bundle::runs_on(device, "c"));
  CHECK(bundle::describe({}, step).json == Json{{"code_bytes", 7}, {"origins", step.origins}});
}
