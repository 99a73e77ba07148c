// One bundle with programs for several shapes.
#include <fmt/format.h>

#include "compiler/assemble/combine_shapes.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

// y = x + w, w[4] read modulo 4, for x: int8[n].
bundle::Bundle program(std::int64_t n) {
  bundle::Bundle bundle;
  bundle.name = "sum";
  bundle.tensors = {{"x", DType::int8, {n}, {}},
                    {"w", DType::int8, {4}, NdArray::from<std::int8_t>({4}, {1, 2, 3, 4})},
                    {"y", DType::int8, {n}, {}}};
  bundle.inputs = {0};
  bundle.outputs = {2};
  const std::string text = fmt::format(
      "program sum {{\n input x: int8[{0}]\n constant w: int8[4]\n output y: int8[{0}]\n for a in {0} {{ block b {{ "
      "spatial i in {0} = a\n reads x[i], w[i % 4]\n writes y[i]\n y[i] = x[i] + w[i % 4]\n }} }} }}",
      n);
  bundle.steps.push_back(test::host_step("sum", {}, text, {0, 1}, {2}));
  return bundle;
}

NdArray ramp_of(std::int64_t n) {
  NdArray x(DType::int8, {n});
  for (std::int64_t i = 0; i < n; ++i) x.set_int64(i, i);
  return x;
}

}  // namespace

TEST_CASE("programs for several shapes are one bundle, with the constants once") {
  const auto combined = combine_shapes({program(4), program(8), program(12)});
  REQUIRE((combined.ok() ? "" : to_string(combined.errors())) == "");
  REQUIRE(combined->other_shapes.size() == 2);
  CHECK(combined->tensors[1].constant.is_same_as(combined->other_shapes[1].tensors[1].constant));
  const std::vector<std::byte> bytes = bundle::serialize(*combined);
  const auto read = bundle::parse(bytes, "bundle", bundle::MachineCode::untrusted);
  REQUIRE((read.ok() ? "" : to_string(read.errors())) == "");
  CHECK(read->tensors[1].constant.is_same_as(read->other_shapes[0].tensors[1].constant));
  CHECK(bundle::serialize(*read) == bytes);

  auto executor = runtime::Executor::make(*read, runtime::simulator_factory("functional").value());
  REQUIRE(executor.ok());
  for (const std::int64_t n : {8, 4, 12, 8}) {
    const auto result = executor->run({{"x", ramp_of(n)}});
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    const NdArray& y = result->outputs.at("y");
    REQUIRE(y.shape() == Shape{n});
    for (std::int64_t i = 0; i < n; ++i) CHECK(y.as_int64(i) == i + i % 4 + 1);
    CHECK(executor->output("y").size() == static_cast<std::size_t>(n));
  }
  const auto wrong = executor->run({{"x", ramp_of(5)}});
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(
      to_string(wrong.errors()),
      ContainsSubstring(
          "the given tensor is int8[5], the model expects int8[4]. Hint: the bundle has programs for [4], [8], [12]"));
}

TEST_CASE("the shapes of states select the program") {
  std::vector<bundle::Bundle> programs{program(4), program(8)};
  for (bundle::Bundle& each : programs) each.states = {{0, 2}};
  auto executor = runtime::Executor::make(combine_shapes(std::move(programs)).value(),
                                          runtime::simulator_factory("functional").value());
  REQUIRE(executor.ok());
  const auto next = [&](const std::map<std::string, NdArray>& inputs = {}) {
    const auto result = executor->run(inputs);
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    return result->outputs.at("y");
  };
  CHECK(next().shape() == Shape{4});
  CHECK(next({{"x", ramp_of(8)}}).as_int64(7) == 7 + 4);  // given for one run, from which the next continues
  CHECK(next().as_int64(7) == 7 + 8);
  executor->set_states({{"x", ramp_of(4)}});
  CHECK(next().shape() == Shape{4});
  executor->set_states({{"x", ramp_of(8)}});
  CHECK(next().as_int64(6) == 6 + 3);
  executor->set_states({{"x", ramp_of(5)}});
  CHECK_THAT(to_string(executor->run({}).errors()), ContainsSubstring("its value is int8[5]"));
}

TEST_CASE("programs of one bundle take the same inputs, in their own shapes") {
  CHECK_THAT(to_string(combine_shapes({program(4), program(4)}).errors()),
             ContainsSubstring("there is already a program for x: int8[4]"));
  bundle::Bundle other = program(8);
  other.tensors[0].name = "z";
  CHECK_THAT(to_string(combine_shapes({program(4), other}).errors()),
             ContainsSubstring("the program's inputs or outputs differ from those of the first program"));
  other = program(8);
  other.outputs = {7};
  CHECK_THAT(to_string(combine_shapes({program(4), other}).errors()), ContainsSubstring("other_shapes[0], outputs"));
  other = program(8);
  other.other_shapes = {program(12)};
  CHECK_THAT(to_string(combine_shapes({program(4), other}).errors()),
             ContainsSubstring("a program for another shape must not contain further ones"));
}
