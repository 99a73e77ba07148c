// Steps that are kept give the same schedules, traces and refusals as steps that are taken.
#include "compiler/schedule/step_memo.h"

#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/schedule/task.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "tests/catch.h"

namespace dovetail::schedule {

namespace {

loops::Program program(const std::string& name) {
  const auto parsed =
      loops::parse_program("program " + name +
                               " { input A: float32[8, 16] output B: float32[8, 16] for y in 8 { for x in 16 { block "
                               "copy { spatial vy in 8 = "
                               "y spatial vx in 16 = x reads A[vy, vx] writes B[vy, vx] B[vy, vx] = A[vy, vx] } } } }",
                           "test");
  INFO((parsed.ok() ? "" : to_string(parsed.errors())));
  REQUIRE(parsed.ok());
  return *parsed;
}

// What a schedule of these steps comes to: program, trace, and the errors of refused steps.
std::string outcome(Schedule schedule, const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps)
    if (const auto status = schedule.apply(step); !status.ok()) text += to_string(status.errors());
  return text + to_string(schedule.trace()) + loops::to_string(schedule.program());
}

}  // namespace

TEST_CASE("step memo: kept steps do what steps do") {
  const loops::IntrinsicTable none;
  const std::vector<std::vector<Step>> schedules{
      {{"sample", {"tile", "among", "2,4", "=", "4"}, {}},
       {"split", {"x", "$tile"}, {}},
       {"reorder", {"x_0", "y"}, {}}},
      {{"sample", {"tile", "among", "2,4,8", "=", "4"}, {}}, {"split", {"x", "$tile"}, {}}, {"unroll", {"x_1"}, {}}},
      {{"split", {"x", "2"}, {"xo", "xi"}}, {"split", {"nowhere", "2"}, {}}, {"vectorize", {"xi"}, {}}},
      {{"split", {"x", "2"}, {"xo", "xi"}}, {"split", {"nowhere", "2"}, {}}, {"parallel", {"y"}, {}}}};
  auto memo = std::make_shared<StepMemo>();
  auto forgetful = std::make_shared<StepMemo>(2);
  for (int round = 0; round < 2; ++round)
    for (const std::vector<Step>& steps : schedules) {
      const std::string expected = outcome(Schedule(program("p"), none), steps);
      for (const auto& each : {memo, forgetful}) {
        const auto begin = each->begin(program("p"), text_of(none));
        CHECK(outcome(Schedule(begin, each, none), steps) == expected);
      }
    }
  // Two schedules share `split x 4`, two the first two steps; the second round has all.
  CHECK(memo->asked() == 20);
  CHECK(memo->found() == 13);
}

TEST_CASE("step memo: a program is known by its text, its name and the intrinsics") {
  const loops::IntrinsicTable none;
  StepMemo memo;
  const auto begin = memo.begin(program("p"), text_of(none));
  CHECK(memo.begin(program("p"), text_of(none)) == begin);
  CHECK(memo.begin(program("q"), text_of(none)) != begin);
  const loops::IntrinsicTable one{{"copy", program("p"), {"", ""}, {}}};
  CHECK(memo.begin(program("p"), text_of(one)) != begin);
  loops::IntrinsicTable in_place = one;
  in_place.front().in_place = true;
  CHECK(text_of(one) != text_of(in_place));
}

TEST_CASE("step memo: a task that keeps its steps is the same task") {
  const Task task{"accel", "copy", program("p")};
  Task kept = task;
  keep_steps(kept, std::make_shared<StepMemo>(), text_of(*kept.intrinsics));
  CHECK(key(kept) == key(task));
  CHECK(to_string(kept) == to_string(task));
}

}  // namespace dovetail::schedule
