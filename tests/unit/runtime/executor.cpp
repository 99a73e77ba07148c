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

TEST_CASE("wrong inputs are reported together") {
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

TEST_CASE("engines: the ones of this build, and the others distinguished") {
  for (const runtime::Engine& engine : runtime::engines()) {
    const auto made = runtime::simulator_factory(engine.name);
    CHECK(made.ok() == engine.available);
    if (!made.ok())
      CHECK_THAT(to_string(made.errors()),
                 ContainsSubstring("this build does not have it. Hint: engines of this build: functional, cycle"));
  }
  const auto unknown = runtime::simulator_factory("fast");
  REQUIRE_FALSE(unknown.ok());
  CHECK_THAT(
      to_string(unknown.errors()),
      ContainsSubstring(
          "no engine \"fast\": there is no engine of that name. Hint: engines of this build: functional, cycle"));
}

TEST_CASE("tensors that share memory and views give the same values, kept ones too") {
  bundle::Bundle bundle = test::sample_bundle();
  bundle.tensors.push_back({"flat", DType::int8, {16}, {}, {}, {}, {}, 4});
  bundle.tensors.push_back({"x flat", DType::int8, {16}, {}, {}, {}, {}, 0});
  bundle.tensors[4].offset = 64;
  bundle.memory_bytes = 80;
  bundle.outputs = {5, 6};
  runtime::Executor executor = make(bundle);
  for (int round = 0; round < 2; ++round) {
    const auto result = executor.run({{"x", ramp()}}, {.keep_tensors = true});
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    CHECK(result->outputs.at("flat").shape() == Shape{16});
    for (std::int64_t i = 0; i < 16; ++i) CHECK(result->outputs.at("flat").as_int64(i) == (i - 4) * 2);
    CHECK(result->outputs.at("x flat") == ramp().reshaped({16}));
    CHECK(result->tensors.at("h").as_int64(0) == -7);
    CHECK(result->tensors.at("a").as_int64(0) == -4);
  }
}

TEST_CASE("an accelerator step reads what another left in the memory that both share, or a copy of it") {
  const bool shared = GENERATE(true, false);
  bundle::Bundle bundle = test::sample_bundle();
  bundle.steps.pop_back();
  bundle::AccelStep second = test::sample_accel_step();
  second.name = "second";
  // The same program a page further up.
  constexpr std::uint64_t kShift = 0x2000;
  const auto moved = [&](std::uint64_t address) { return shared ? address + kShift : address; };
  second.inputs = {{2, shared ? test::kSampleOutput : test::kSampleInput}};
  second.outputs = {{4, moved(test::kSampleOutput)}};
  auto& first = std::get<bundle::AccelStep>(bundle.steps[1]);
  second.memory = shared ? 0 : 1;
  if (shared) {
    first.dram_bytes += kShift;
    second.dram_bytes += kShift;
    for (bundle::Segment& segment : second.segments) segment.address += kShift;
    second.program_base += kShift;
    std::get<isa::Load>(second.program[0].body).dram_base += kShift / 4;
    std::get<isa::Load>(second.program[1].body).dram_base = test::kSampleOutput / 16;
    std::get<isa::Store>(second.program[3].body).dram_base += kShift / 16;
    second.segments[1].bytes = isa::Codec(second.config).encode_program(second.program).value();
  }
  bundle.steps.emplace_back(second);
  const auto result = make(bundle).run({{"x", ramp()}});
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  for (std::int64_t i = 0; i < 16; ++i) CHECK(result->outputs.at("y").as_int64(i) == i - 8 + 1 + 3 + 3);
}
