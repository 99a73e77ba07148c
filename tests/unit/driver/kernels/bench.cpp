// Baselines in C: how they are named; tests/e2e/cli/kernel_speed.cpp compiles and times them.
#include "driver/kernels/bench.h"

#include "tests/unit/driver/kernels/programs.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("baseline: a library and a function") {
  const auto named = parse_baseline("a:b/lib.so:f");
  REQUIRE(named.ok());
  CHECK(named->library == "a:b/lib.so");
  CHECK(named->name == "f");
  CHECK(parse_baseline("lib.so:f")->library == "./lib.so");  // not one of the system's libraries
  for (const std::string text : {"lib.so", ":f", "lib.so:", ""}) CHECK(!parse_baseline(text).ok());
}

TEST_CASE("baseline: a library that is missing is named") {
  const LoopProgram program = test::program_of(test::kProduct);
  const auto bench = bench_loops(program, {"/nowhere/lib.so", "f"}, program.inputs({}, 1)->tensors, {});
  REQUIRE(!bench.ok());
  CHECK_THAT(to_string(bench.errors()),
             ContainsSubstring("/nowhere/lib.so:f") && ContainsSubstring("cannot be loaded"));
  const auto missing = bench_loops(program, {"/nowhere/lib.so", "f"}, {}, {});
  REQUIRE(!missing.ok());
  CHECK_THAT(to_string(missing.errors()), ContainsSubstring("x") && ContainsSubstring("this input is missing"));
  Tensors other = program.inputs({}, 1)->tensors;
  other.at("x") = NdArray(DType::float32, {2, 2});
  const auto small = bench_loops(program, {"/nowhere/lib.so", "f"}, other, {});
  REQUIRE(!small.ok());
  CHECK_THAT(to_string(small.errors()), ContainsSubstring("it is float32[2, 2]"));
}
