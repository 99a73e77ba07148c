// Random arguments that a program accepts, and whose results are not all equal.
#include "explore/measure/draw_arguments.h"

#include <algorithm>
#include <limits>
#include <set>

#include "loops/interpreter.h"
#include "loops/parse.h"
#include "tests/cpu_task.h"

using namespace dovetail;
using namespace dovetail::explore;

namespace {

const cpu::Cpu& processor() { return cpu::cpus().back(); }

loops::Program program_of(const std::string& text) {
  auto program = loops::parse_program(text, "test");
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

// y[i] = `value` of parameters a and b.
loops::Program elementwise(const std::string& type, const std::string& value, const std::string& result = "") {
  return program_of("program p { input a: " + type + "[1000] input b: " + type + "[1000] output y: " +
                    (result.empty() ? type : result) + "[1000] for i in 1000 { block e { spatial v in 1000 = i reads " +
                    "a[v], b[v] writes y[v] y[v] = " + value + " } } }");
}

std::pair<double, double> range_of(const NdArray& array) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (std::int64_t i = 0; i < array.count(); ++i)
    least = std::min(least, array.as_double(i)), most = std::max(most, array.as_double(i));
  return {least, most};
}

}  // namespace

TEST_CASE("drawn arguments: they depend only on the seed and the program") {
  const loops::Program program = elementwise("float32", "a[v] + b[v]");
  CHECK(draw_arguments(program, 1) == draw_arguments(program, 1));
  CHECK(draw_arguments(program, 1) != draw_arguments(program, 2));
  CHECK(draw_arguments(program, 1)[0] != draw_arguments(program, 1)[1]);
}

TEST_CASE("drawn arguments: floats are small; divisors and operands of roots are positive") {
  const auto drawn = draw_arguments(elementwise("float32", "a[v] / b[v]"), 1);
  const auto [least_a, most_a] = range_of(drawn[0]);
  const auto [least_b, most_b] = range_of(drawn[1]);
  CHECK((least_a >= -1 && least_a < -0.9 && most_a > 0.9 && most_a <= 1));
  CHECK((least_b >= 1.0 / 16 && most_b <= 1));
  const auto rooted = draw_arguments(elementwise("float32", "a[v] * rsqrt(b[v] + 0.001)"), 1);
  CHECK(range_of(rooted[0]).first < 0);
  CHECK(range_of(rooted[1]).first > 0);
}

TEST_CASE("drawn arguments: integers have their full range, divisors are positive") {
  const auto bytes = draw_arguments(elementwise("int8", "a[v] / b[v]"), 1);
  CHECK(range_of(bytes[0]) == std::pair(-128.0, 127.0));
  CHECK(range_of(bytes[1]).first == 1);
  const auto words = draw_arguments(elementwise("int64", "a[v] + b[v]"), 1);
  CHECK(range_of(words[0]).first < -4e18);
  CHECK(range_of(words[0]).second > 4e18);
}

TEST_CASE("drawn arguments: an index is within its dimension, unless any value of its type is") {
  const schedule::Task gather = test::cpu_task(test::kGatherTask.text, test::kGatherTask.kind, processor());
  const auto drawn = draw_arguments(gather.program, 1);
  const auto [least, most] = range_of(drawn[1]);
  CHECK((least >= 0 && most < 50 && most > 40));
  CHECK(loops::evaluate(gather.program, drawn).ok());

  const schedule::Task look_up = test::cpu_task(R"(graph g(%x: int8[1000]) -> (%y)
  constant %t: int8[256]
  %y: int8[1000] = dovetail.qtable(%x, %t)
)",
                                                "generic", processor());
  CHECK(range_of(draw_arguments(look_up.program, 1)[0]) == std::pair(-128.0, 127.0));
}

TEST_CASE("drawn arguments: requantized values cover their type") {
  for (const cpu::Cpu& cpu : {cpu::cpus().front(), cpu::cpus().back()}) {
    const schedule::Task task = test::cpu_task(test::kInt8ConvolutionTask.text, test::kInt8ConvolutionTask.kind, cpu);
    const auto results = loops::evaluate(task.program, draw_arguments(task.program, 1));
    REQUIRE(results.ok());
    const auto values = results->front().data<std::int8_t>();
    const auto at_an_end = std::ranges::count_if(values, [](int value) { return value == -128 || value == 127; });
    CHECK(at_an_end < static_cast<std::ptrdiff_t>(values.size() / 2));
    CHECK(std::set<int>(values.begin(), values.end()).size() > 200);
  }
}
