// Schedules with samples as sketches: decisions given, drawn and by default.
#include "compiler/schedule/trace_sketch.h"

#include "loops/parse.h"
#include "loops/print.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::schedule;

namespace {

Task task_of() {
  Task task{"cpu", "loop program",
            *loops::parse_program(R"(program p {
  input x: float32[24, 16]
  output y: float32[24, 16]
  y[i in 24, j in 16] = x[i, j] + 1.0
}
)",
                                  "test")};
  return task;
}

Sketch sketch(const std::string& steps) { return sketch_of(*parse_trace(steps, "test")); }

}  // namespace

TEST_CASE("trace sketch: without decisions, the trace as it was written") {
  const std::string steps =
      "sample f factors 24:2 = 6,4\nsample inner among $f.1,8 = 8\nsplit y.i $f.1 -> io ii\nsplit y.j $inner -> jo ji\n"
      "transform_layout x i0/8,i1,i0%8\ntransform_layout x i0,i2,i1\n";
  const auto scheduled = run(sketch(steps), task_of());
  INFO((scheduled.ok() ? std::string() : to_string(scheduled.errors())));
  REQUIRE(scheduled.ok());
  CHECK(scheduled->decisions.size() == 2);
  Schedule replayed(task_of().program, *task_of().intrinsics);
  // Layouts of parameters are composed.
  CHECK(scheduled->layouts == std::map<std::string, std::string>{{"x", "i0/8,i0%8,i1"}});
  const auto again = replay(task_of(), scheduled->trace);
  REQUIRE(again.ok());
  CHECK(loops::to_string(*again) == loops::to_string(scheduled->program));
}

TEST_CASE("trace sketch: decisions replace the written values, also those that later spaces depend on") {
  const Sketch s =
      sketch("sample a among 2,4,8 = 2\nsample b among 1,$a = 2\nsplit y.i $a -> io ii\nsplit y.j $b -> jo ji\n");
  const auto first = run(s, task_of());
  REQUIRE(first.ok());
  CHECK(first->decisions[1].value == "2");
  const auto other = run(s, task_of(), {{"a", "8"}});
  REQUIRE(other.ok());
  CHECK(other->decisions[0].value == "8");
  CHECK(other->decisions[1].value == "1");  // 2 is not in its space any more
  CHECK(!run(s, task_of(), {{"a", "3"}}).ok());
  CHECK(!run(s, task_of(), {{"c", "3"}}).ok());
}

TEST_CASE("trace sketch: steps that are not legal are errors") {
  CHECK(!run(sketch("sample a among 2,4\nsplit y.q $a\n"), task_of()).ok());
  CHECK(!run(sketch("sample a\n"), task_of()).ok());
  CHECK(!run(sketch("sample a among 2,x = 2\nsplit y.i $b\n"), task_of()).ok());
}
