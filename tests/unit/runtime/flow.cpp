// Steps that choose and repeat programs: values, limits, stops, and the profile of the programs.
#include "runtime/device/all.h"
#include "runtime/executor.h"
#include "runtime/machine_code.h"
#include "tests/catch.h"
#include "tests/unit/bundle/flow_sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

runtime::Executor executor_of(bundle::Bundle bundle, Work* work = nullptr) {
  runtime::ExecutorOptions options;
  options.work = work;
  auto executor = runtime::Executor::make(std::move(bundle), {}, options);
  REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
  return *std::move(executor);
}
NdArray condition(bool holds) {
  NdArray array(DType::boolean, {});
  array.set_int64(0, holds ? 1 : 0);
  return array;
}
const NdArray kX = NdArray::from<std::int8_t>({4}, {1, 2, 3, -4});

}  // namespace

TEST_CASE("an if runs the program that its condition chooses, run after run") {
  runtime::Executor executor = executor_of(test::if_bundle());
  for (const bool holds : {true, false, true}) {
    const auto result = executor.run({{"c", condition(holds)}, {"x", kX}});
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    for (std::int64_t i = 0; i < 4; ++i)
      CHECK(result->outputs.at("y").as_int64(i) == (holds ? kX.as_int64(i) + 1 : kX.as_int64(i) * 2));
    REQUIRE(result->steps.size() == 1);
    const auto& programs = result->steps[0].programs;
    REQUIRE(programs.size() == 2);
    CHECK(programs[holds ? 0 : 1].at(0).runs == 1);
    CHECK(programs[holds ? 1 : 0].at(0).runs == 0);
  }
}

TEST_CASE("a loop carries values, stacks others, and cuts the stacked ones to its iterations") {
  runtime::Executor executor = executor_of(test::loop_bundle());
  for (const std::int64_t n : {3, 0, 5, -1, 1}) {
    const auto result = executor.run({{"n", NdArray::scalar(n)}, {"x", kX}});
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    const std::int64_t trips = std::max<std::int64_t>(n, 0);
    const NdArray& all = result->outputs.at("all");
    CHECK(all.shape() == Shape{trips, 4});
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK(result->outputs.at("y").as_int64(i) == kX.as_int64(i) * (1 << trips));
      for (std::int64_t t = 0; t < trips; ++t) CHECK(all.as_int64(4 * t + i) == kX.as_int64(i) * (2 << t));
    }
    CHECK(result->steps[0].programs.at(0).at(0).runs == static_cast<std::uint64_t>(trips));
    const auto padded = executor.output("all");  // zeros after
    CHECK(std::ranges::all_of(padded.subspan(static_cast<std::size_t>(4 * trips)),
                              [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

TEST_CASE("a loop that exceeds its limit is an error that says so") {
  runtime::Executor counted = executor_of(test::loop_bundle());
  for (runtime::Executor executor : {executor_of(test::loop_bundle(false)), counted}) {
    const auto result = executor.run({{"n", NdArray::scalar(std::int64_t{6})}, {"x", kX}});
    REQUIRE_FALSE(result.ok());
    CHECK_THAT(to_string(result.errors()), ContainsSubstring("the loop does not end") &&
                                               ContainsSubstring("step repeat") &&
                                               ContainsSubstring("after 5 iterations"));
  }
  CHECK(counted.run({{"n", NdArray::scalar(std::int64_t{2})}, {"x", kX}}).ok());  // and none for the next run
}

TEST_CASE("a loop ends where its work is stopped, and counts its iterations") {
  Work stopped;
  stopped.stop("the user has stopped it", "");
  const auto result =
      executor_of(test::loop_bundle(), &stopped).run({{"n", NdArray::scalar(std::int64_t{3})}, {"x", kX}});
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(to_string(result.errors()), ContainsSubstring("the user has stopped it"));

  Work open;
  runtime::Executor executor = executor_of(test::loop_bundle(), &open);
  REQUIRE(executor.run({{"n", NdArray::scalar(std::int64_t{1})}, {"x", kX}}).ok());
  const std::uint64_t once = open.expected().steps;
  CHECK(once > 0);
  REQUIRE(executor.run({{"n", NdArray::scalar(std::int64_t{4})}, {"x", kX}}).ok());
  CHECK(open.expected().steps == once + 4 * once);
  Work limited(3 * once);
  const auto refused =
      executor_of(test::loop_bundle(), &limited).run({{"n", NdArray::scalar(std::int64_t{4})}, {"x", kX}});
  REQUIRE_FALSE(refused.ok());
  CHECK(limited.done() <= 3 * once);
}

TEST_CASE("code in nested programs is checked before anything runs, and its machine code is found") {
  bundle::Bundle damaged = test::if_bundle();
  damaged.steps[0].programs[1].steps[0].code = {};
  CHECK_FALSE(runtime::Executor::make(damaged, {}).ok());
  CHECK_FALSE(runtime::check_code(damaged, runtime::built_in_devices({})).ok());
  bundle::Bundle machine = test::if_bundle();
  machine.steps[0].programs[1].steps[0].target = "cpu";
  CHECK(runtime::machine_code_targets(machine, runtime::built_in_devices({})) == std::vector<std::string>{"cpu"});
  machine.machine_code = bundle::MachineCode::untrusted;
  const auto untrusted = runtime::Executor::make(machine, {});
  REQUIRE_FALSE(untrusted.ok());
  CHECK_THAT(to_string(untrusted.errors()), ContainsSubstring("the bundle contains machine code, in the steps of cpu"));
  bundle::Bundle wrong = test::if_bundle();
  wrong.steps[0].arguments = {0, 1};
  CHECK_FALSE(runtime::check_code(wrong, runtime::built_in_devices({})).ok());
}
