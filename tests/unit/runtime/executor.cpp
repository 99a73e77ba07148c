#include "runtime/executor.h"

#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

runtime::Executor make(bundle::Bundle bundle = test::sample_bundle()) {
  auto executor = runtime::Executor::make(std::move(bundle), runtime::simulator_factory("functional").value());
  REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
  return *std::move(executor);
}
NdArray ramp() {
  NdArray x(DType::int8, {1, 16});
  for (std::int64_t i = 0; i < 16; ++i) x.set_int64(i, i - 8);
  return x;
}

}  // namespace

TEST_CASE("a bundle of host and accelerator steps computes, run after run") {
  runtime::Executor executor = make();
  for (int round = 0; round < 3; ++round) {
    NdArray x = ramp();
    x.set_int64(0, round);
    const auto result = executor.run({{"x", x}});
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    REQUIRE(result->outputs.size() == 1);
    for (std::int64_t i = 0; i < 16; ++i) CHECK(result->outputs.at("y").as_int64(i) == (x.as_int64(i) + 4) * 2);
    CHECK(result->tensors.empty());
    REQUIRE(result->steps.size() == 3);
    CHECK(result->steps[1].target == "accel");
    CHECK(result->steps[2].name == "twice");
    CHECK(result->counters == result->steps[1].counters);
    CHECK(result->counters.alu_uops == 1);
    CHECK(result->counters.bytes_stored == 16);
  }
}

TEST_CASE("tensors are kept on request") {
  const auto result = make().run({{"x", ramp()}}, {.keep_tensors = true});
  REQUIRE(result.ok());
  CHECK(result->tensors.size() == 3);
  CHECK(result->tensors.at("a").as_int64(0) == -4);
}

TEST_CASE("inputs and constants may be outputs") {
  bundle::Bundle bundle = test::sample_bundle();
  bundle.outputs = {0, 3};
  const auto result = make(bundle).run({{"x", ramp()}});
  REQUIRE(result.ok());
  CHECK(result->outputs.at("x") == ramp());
  CHECK(result->outputs.at("two").as_int64(0) == 2);
}

TEST_CASE("wrong inputs are told together") {
  const auto missing = make().run({{"z", ramp()}});
  REQUIRE_FALSE(missing.ok());
  CHECK_THAT(to_string(missing.errors()), ContainsSubstring("input x): it is missing"));
  CHECK_THAT(to_string(missing.errors()),
             ContainsSubstring("input z): the model has no input of that name. Hint: its inputs: x"));
  const auto wrong = make().run({{"x", NdArray(DType::float32, {16})}});
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(to_string(wrong.errors()), ContainsSubstring("it is float32[16], the model takes int8[1, 16]"));
}

TEST_CASE("a deadlock in a step names step and instruction") {
  bundle::Bundle bundle = test::sample_bundle();
  auto& accel = std::get<bundle::AccelStep>(bundle.steps[1]);
  accel.program[2].flags.push_next = false;
  accel.segments[1].bytes = isa::Codec(accel.config).encode_program(accel.program).value();
  const auto result = make(bundle).run({{"x", ramp()}});
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(to_string(result.errors()), ContainsSubstring("step region"));
  CHECK_THAT(to_string(result.errors()), ContainsSubstring("deadlock"));
}

TEST_CASE("a bundle that does not verify makes no executor") {
  bundle::Bundle bundle = test::sample_bundle();
  bundle.inputs.clear();
  CHECK_FALSE(runtime::Executor::make(bundle, runtime::simulator_factory("functional").value()).ok());
}

TEST_CASE("engines: the ones of this build, and the others told apart") {
  CHECK(runtime::simulator_factory("functional").ok());
  CHECK(runtime::simulator_factory("cycle").ok());
  const auto later = runtime::simulator_factory("systemc"), unknown = runtime::simulator_factory("fast");
  REQUIRE_FALSE(later.ok());
  REQUIRE_FALSE(unknown.ok());
  CHECK_THAT(
      to_string(later.errors()),
      ContainsSubstring("no engine \"systemc\": this build does not have it. Hint: engines of this build: functional, cycle"));
  CHECK_THAT(to_string(unknown.errors()), ContainsSubstring("there is no engine of that name"));
}
