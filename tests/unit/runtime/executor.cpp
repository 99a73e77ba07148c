#include "runtime/executor.h"

#include <algorithm>
#include <array>

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

TEST_CASE("a run without timing of steps has the same results, wherever its inputs are stored") {
  runtime::Executor executor = make();
  const NdArray other = ramp();
  for (int round = 0; round < 4; ++round) {
    NdArray x = ramp();  // each time at another address
    x.set_int64(3, round);
    const bool times = round % 2 == 0;
    const auto result = executor.run({{"x", round == 3 ? other : x}}, {.time_steps = times});
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    CHECK(result->outputs.at("y").as_int64(3) == ((round == 3 ? other : x).as_int64(3) + 4) * 2);
    CHECK(result->steps.size() == (times ? 3 : 0));
    CHECK(result->counters.alu_uops == 1);
  }
}

TEST_CASE("a state that is not given has its value of the run before") {
  bundle::Bundle bundle = test::sample_bundle();
  bundle.states = {{bundle.inputs[0], bundle.outputs[0]}};
  runtime::Executor executor = make(std::move(bundle));
  const auto next = [&](const std::map<std::string, NdArray>& inputs = {}) {
    const auto result = executor.run(inputs);
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    CHECK(executor.states().value()->at("x") == result->outputs.at("y"));
    return result->outputs.at("y").as_int64(5);
  };
  CHECK(executor.states().value()->empty());
  CHECK(next() == 8);  // y = (x + 4) * 2, from zeros
  CHECK(next() == 24);
  CHECK(next({{"x", ramp()}}) == 2);  // given: -3
  CHECK(next() == 12);
  // A run that fails, and one for other names, leave the state.
  CHECK_FALSE(executor.run({{"x", NdArray(DType::int8, {16})}}).ok());
  CHECK_FALSE(executor.run({{"z", ramp()}}).ok());
  CHECK(executor.states().value()->at("x").as_int64(5) == 12);
  // In place: null bytes are the state's.
  REQUIRE(executor.run_in_place(std::vector<std::span<const std::byte>>{{}}).ok());
  CHECK(executor.states().value()->at("x").as_int64(5) == 32);
  const NdArray given = ramp();
  REQUIRE(executor.run_in_place(std::vector<std::span<const std::byte>>{given.bytes()}).ok());
  CHECK(next() == 12);
  CHECK_FALSE(executor.run({}, {.copy_states = false})->outputs.contains("y"));
  executor.set_states({{"x", NdArray(DType::int8, {2})}});
  CHECK_THAT(to_string(executor.run({}).errors()), ContainsSubstring("its value is int8[2], but the program reads"));
  executor.set_states({});
  CHECK(next() == 8);
}

TEST_CASE("outputs are computed in the caller's memory where it is apart and aligned") {
  runtime::Executor executor = make();
  alignas(bundle::kTensorAlignment) std::array<std::byte, 96> memory;
  const std::span<std::byte> aligned = std::span(memory).first(16), odd = std::span(memory).subspan(65, 16);
  const NdArray x = ramp();
  const auto run = [&](std::span<const std::byte> input, std::span<std::byte> output) {
    memory.fill(std::byte{99});
    if (input.data() == memory.data()) std::ranges::copy(x.bytes(), memory.begin());
    const std::vector<std::span<const std::byte>> inputs{input};
    const std::vector<std::span<std::byte>> outputs{output};
    REQUIRE(executor.run_in_place(inputs, outputs).ok());
    const auto y = executor.output("y");
    for (std::int64_t i = 0; i < 16; ++i)
      CHECK(std::to_integer<int>(y[static_cast<std::size_t>(i)]) == ((x.as_int64(i) + 4) * 2 & 255));
    return y.data() == output.data();
  };
  CHECK(run(x.bytes(), aligned));
  CHECK_FALSE(run(x.bytes(), odd));
  CHECK_FALSE(run(x.bytes(), {}));
  // The input is there: it is only read.
  CHECK_FALSE(run(aligned, aligned));
  CHECK(std::ranges::equal(aligned, x.bytes()));
  // A run that follows writes to its own memory again.
  CHECK(run(x.bytes(), aligned));
  memory.fill(std::byte{99});
  REQUIRE(executor.run({{"x", x}}).ok());
  CHECK(std::ranges::all_of(memory, [](std::byte each) { return each == std::byte{99}; }));
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
  CHECK_THAT(to_string(missing.errors()), ContainsSubstring("input x): the input is missing"));
  CHECK_THAT(to_string(missing.errors()),
             ContainsSubstring("input z): the model has no input of that name. Hint: its inputs: x"));
  const auto wrong = make().run({{"x", NdArray(DType::float32, {16})}});
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(to_string(wrong.errors()),
             ContainsSubstring("the given tensor is float32[16], the model expects int8[1, 16]"));
}

TEST_CASE("a deadlock in a step names step and instruction") {
  bundle::Bundle bundle = test::sample_bundle();
  test::change_accel(bundle.steps[1], [](bundle::AccelCode& code) {
    code.program[2].flags.push_next = false;
    code.segments[1].bytes = isa::Codec(code.config).encode_program(code.program).value();
  });
  const auto result = make(bundle).run({{"x", ramp()}});
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(to_string(result.errors()), ContainsSubstring("step region"));
  CHECK_THAT(to_string(result.errors()), ContainsSubstring("deadlock"));
}

TEST_CASE("a bundle that does not verify gives no executor") {
  bundle::Bundle bundle = test::sample_bundle();
  bundle.inputs.clear();
  CHECK_FALSE(runtime::Executor::make(bundle, runtime::simulator_factory("functional").value()).ok());
}

TEST_CASE("wrong code gives no executor, also in a program for another shape") {
  const auto errors = [](const bundle::Bundle& bundle) {
    const auto made = runtime::Executor::make(bundle, runtime::simulator_factory("functional").value());
    return made.ok() ? "" : to_string(made.errors());
  };
  bundle::Bundle host = test::sample_bundle(), accel = host, both = host, shape = host, nowhere = host;
  host.steps[2].results = {};
  host.outputs = {2};
  CHECK_THAT(errors(host), ContainsSubstring("(step twice): the program has 2 arguments and 1 results"));
  accel.steps[1].code.pop_back();
  CHECK_THAT(errors(accel), ContainsSubstring("code of step region"));
  for (bundle::Tensor& tensor : shape.tensors)
    if (!tensor.constant) tensor.shape = {2, 16};
  shape.tensors[1].offset = 0x200;
  both.other_shapes = {shape};
  CHECK_THAT(errors(both), ContainsSubstring("parameter x is int8[1, 16], tensor \"x\" is int8[2, 16]"));
  nowhere.spaces.push_back({"gpu", "vram", 0, 64});
  nowhere.tensors[4].space = 2;
  nowhere.tensors[4].offset = 0;
  CHECK_THAT(
      errors(nowhere),
      ContainsSubstring("(tensor y): the tensor is in memory \"vram\", which no device \"gpu\" of the steps has"));
}

TEST_CASE("engines: those of this build, and the others") {
  for (const runtime::Engine& engine : runtime::engines()) {
    const auto made = runtime::simulator_factory(engine.name);
    CHECK(made.ok() == engine.available);
    if (!made.ok())
      CHECK_THAT(to_string(made.errors()),
                 ContainsSubstring(engine.name == "axi" ? "cannot find the device" : "cannot load engine systemc"));
  }
  const auto unknown = runtime::simulator_factory("fast");
  REQUIRE_FALSE(unknown.ok());
  CHECK_THAT(to_string(unknown.errors()),
             ContainsSubstring(
                 "no engine \"fast\": there is no engine of that name. Hint: available engines: functional, cycle"));
}

TEST_CASE("tensors that share memory and views give the same values, kept ones too") {
  bundle::Bundle bundle = test::sample_bundle();
  bundle.tensors.push_back({"flat", DType::int8, {16}, {}, {}, {}, {}, 4});
  bundle.tensors.push_back({"x flat", DType::int8, {16}, {}, {}, {}, {}, 0});
  bundle.tensors[4].offset = 64;
  bundle.spaces[0].bytes = 80;
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

TEST_CASE("an accelerator step reads what another step left in shared memory, or a copy of it") {
  const bool shared = GENERATE(true, false);
  bundle::Bundle bundle = test::sample_bundle();
  bundle.steps.pop_back();
  bundle::AccelCode second = test::sample_accel_code();
  // The same program two pages higher, or in its own memory.
  constexpr std::uint64_t kShift = 0x2000;
  if (shared) {
    bundle.spaces[1].bytes += kShift;
    for (bundle::Segment& segment : second.segments) segment.address += kShift;
    second.program_base += kShift;
    second.argument_addresses = {test::kSampleOutput};
    second.result_addresses[0] += kShift;
    std::get<isa::Load>(second.program[0].body).dram_base += kShift / 4;
    std::get<isa::Load>(second.program[1].body).dram_base = test::kSampleOutput / 16;
    std::get<isa::Store>(second.program[3].body).dram_base += kShift / 16;
    second.segments[1].bytes = isa::Codec(second.config).encode_program(second.program).value();
  } else {
    second.space = 2;
    bundle.spaces.push_back({"accel", "DRAM 2", test::kSampleBase, test::kSampleBytes});
  }
  bundle.tensors[4].space = second.space;
  bundle.tensors[4].offset = second.result_addresses[0] - test::kSampleBase;
  bundle.steps.push_back(test::accel_step("second", second, {2}, {4}));
  const auto result = make(bundle).run({{"x", ramp()}});
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  for (std::int64_t i = 0; i < 16; ++i) CHECK(result->outputs.at("y").as_int64(i) == i - 8 + 1 + 3 + 3);
}

TEST_CASE("tensors of an accelerator step may be at other addresses than its program expects") {
  const bool at_zero = GENERATE(false, true);
  bundle::Bundle bundle = test::sample_bundle();
  if (at_zero) bundle.spaces[1].base = 0, bundle.spaces[1].bytes = 0x3000;  // below the alignment that tensors need
  for (const bundle::TensorIndex index : {1, 2}) {
    bundle::Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
    if (!at_zero) tensor.space = bundle::kHostSpace, tensor.offset.reset();
  }
  const auto result = make(bundle).run({{"x", ramp()}}, {.keep_tensors = true});
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  for (std::int64_t i = 0; i < 16; ++i) CHECK(result->outputs.at("y").as_int64(i) == (i - 4) * 2);
  CHECK(result->tensors.at("h").as_int64(0) == -7);
  CHECK(result->tensors.at("a").as_int64(0) == -4);
}
