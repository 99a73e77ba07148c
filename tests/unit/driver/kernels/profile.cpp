// Profiles and comparisons of loop programs.
#include "driver/kernels/profile.h"

#include <cmath>

#include "driver/kernels/compare.h"
#include "tests/unit/driver/kernels/programs.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("roofline: the lower of the bounds of memory and arithmetic") {
  const Roofline low{.giga_operations = 100, .giga_bytes = 10, .intensity = 2};
  CHECK(low.bound_by_memory());
  CHECK(low.bound() == 20);
  CHECK(low.ridge() == 10);
  const Roofline high{.giga_operations = 100, .giga_bytes = 10, .intensity = 10};
  CHECK(!high.bound_by_memory());
  CHECK(high.bound() == 100);
}

TEST_CASE("profile: operations and bytes of the program as written, runs as asked for") {
  const LoopProgram program = test::program_of(test::kProduct, "split y.i 8\n");
  const Tensors inputs = program.inputs({}, 1)->tensors;
  LoopProfileOptions options;
  options.repeat = 4;
  options.runner.threads = 1;
  for (const std::string target : {"interpreter", "host", "cpu"}) {
    const auto profile = profile_loops(program, target, inputs, options);
    REQUIRE(profile.ok());
    CHECK(profile->operations == 2.0 * 32 * 32 * 32);
    CHECK(profile->bytes == 3 * 32 * 32 * 4);
    CHECK(profile->seconds.runs == 4);
    CHECK(profile->seconds.median > 0);
    CHECK(!profile->cycles);
    if (target == "cpu" && profile->roofline) {
      CHECK(std::abs(profile->roofline->intensity - 2.0 * 32 / 12) < 1e-9);
      CHECK(profile->roofline->giga_bytes > 0.1);
    }
  }
}

TEST_CASE("compare: every target has the interpreter's values, or the reason why it has none") {
  const LoopProgram program = test::program_of(test::kProduct);
  LoopProfileOptions options;
  options.repeat = 2;
  const Tensors inputs = program.inputs({}, 1)->tensors;
  const LoopProgram tiled = test::program_of(test::kProduct, "split y.i 8 -> io ii\nparallel io\n");
  const auto rows = compare_kernels({{"interpreter", program}, {"cpu", tiled}, {"accel", program}}, inputs, options);
  REQUIRE(rows.ok());
  REQUIRE(rows->size() == 3);
  CHECK((*rows)[0].available());
  CHECK((*rows)[1].available());
  CHECK((*rows)[1].wrong.empty());
  CHECK((*rows)[1].steps == 2);
  CHECK((*rows)[1].profile.seconds.median > 0);
  CHECK(!(*rows)[2].available());
  CHECK_THAT((*rows)[2].unavailable, ContainsSubstring("to the accelerator"));
  CHECK(!(*rows)[2].hint.empty());
  Tensors missing = inputs;
  missing.erase("x");
  CHECK(!compare_kernels({{"cpu", program}}, missing, options).ok());
}

TEST_CASE("wrong values are named") {
  const Tensors expected{{"y", NdArray::from<float>({2}, {1, 2})}};
  CHECK(find_wrong_value(expected, {{"y", NdArray::from<float>({2}, {1, 2.0001F})}}).empty());
  CHECK_THAT(find_wrong_value(expected, {{"y", NdArray::from<float>({2}, {1, 3})}}), ContainsSubstring("y: 1 of 2"));
}
