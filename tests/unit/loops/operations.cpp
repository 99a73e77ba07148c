// Counts of arithmetic and of steps.
#include "loops/operations.h"

#include <fmt/format.h>

#include "loops/parse.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

// y[i] = `value`, for each k.
Program summed(const std::string& dtype, std::int64_t extent, const std::string& value) {
  const std::string text = fmt::format(R"(program p {{
  input x: {0}[{1}]
  input w: {0}[{1}]
  output y: {0}[{1}]
  for a in {1} {{
    for b in {1} {{
      block sum {{
        spatial i in {1} = a
        reduce k in {1} = b
        reads x[i], w[k], y[i]
        writes y[i]
        init {{
          y[i] = 0
        }}
        y[i] = {2}
      }}
    }}
  }}
}})",
                                       dtype, extent, value);
  const auto program = parse_program(text, "a sum");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  return *program;
}

}  // namespace

TEST_CASE("a multiply-add counts as two operations and steps, on int64 only as steps") {
  const Program real = summed("float32", 10, "y[i] + x[i] * w[k]"), whole = summed("int64", 10, "y[i] + x[i] * w[k]");
  CHECK(count_operations(real).floating == 200);
  CHECK(count_operations(real).macs == 100);
  CHECK(count_steps(real) == 200);
  CHECK(count_operations(whole).all() == 0);
  CHECK(count_steps(whole) == 200);
}

TEST_CASE("steps: comparisons and choices count, moves are one each, indices none") {
  CHECK(count_steps(summed("float32", 10, "select(x[i] < w[k], x[i], y[i])")) == 200);
  CHECK(count_steps(summed("float32", 10, "w[(i + k) // 2]")) == 100);
}

TEST_CASE("counts beyond 2^64 saturate") {
  const std::int64_t extent = std::int64_t{1} << 32;
  const Program endless = summed("float32", extent, "y[i] + x[i] * w[k]");
  CHECK(count_operations(endless).floating == UINT64_MAX);
  CHECK(count_operations(endless).macs == UINT64_MAX);
  CHECK(count_operations(endless).all() == UINT64_MAX);
  CHECK(count_steps(endless) == UINT64_MAX);
  CHECK(saturating_sum(UINT64_MAX - 1, 1) == UINT64_MAX);
  CHECK(saturating_sum(UINT64_MAX, 1) == UINT64_MAX);
  CHECK(saturating_product(std::uint64_t{1} << 32, std::uint64_t{1} << 31) == std::uint64_t{1} << 63);
}

TEST_CASE("rounding: detects calls of a math library, and ordered float reductions") {
  CHECK(calls_mathematics(summed("float32", 3, "y[i] + exp(x[i])")));
  CHECK(calls_mathematics(summed("float32", 3, "y[i] + pow(x[i], w[k])")));
  CHECK_FALSE(calls_mathematics(summed("float32", 3, "y[i] + sqrt(x[i]) / w[k]")));
  CHECK(reduces_floats(summed("float32", 3, "y[i] + x[i]")));
  CHECK_FALSE(reduces_floats(summed("int32", 3, "y[i] + x[i]")));
}
