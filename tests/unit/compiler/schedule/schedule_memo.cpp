// Schedules that are taken from a memo are those that the sketch writes, and are taken only where all that they follow
// from is the same.
#include "compiler/schedule/schedule_memo.h"

#include <array>
#include <memory>
#include <string>

#include "compiler/schedule/context.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "tests/catch.h"

namespace dovetail::schedule {

namespace {

loops::Program program(const std::string& name, const std::string& rows = "8") {
  const auto parsed =
      loops::parse_program("program " + name + " { input A: float32[" + rows + ", 16] output B: float32[" + rows +
                               ", 16] for y in " + rows + " { for x in 16 { block copy { spatial vy in " + rows +
                               " = y spatial vx in 16 = x reads A[vy, vx] writes B[vy, vx] "
                               "B[vy, vx] = A[vy, vx] } } } }",
                           "test");
  INFO((parsed.ok() ? "" : to_string(parsed.errors())));
  REQUIRE(parsed.ok());
  return *parsed;
}

Task task_of(const loops::Program& program, const std::shared_ptr<ScheduleMemo>& memo) {
  Task task{"accel", "copy", program};
  if (memo) keep_schedules(task, memo, text_of(*task.intrinsics));
  return task;
}

// Decides a tile and slots, and unrolls where `unrolled`, a fact of the machine, says so.
Sketch sketch(bool unrolled) {
  return {"copy", 1, [unrolled](Context& c) {
            const std::int64_t tile = c.sample("tile", {2, 4, 8}, 4), slots = c.sample("slots", {1, 2}, 2);
            const std::array unused{"slots"};
            c.recall(unrolled ? "unrolled" : "rolled", unused, [&] {
              c.split("x", tile, "xo", "xi");
              c.reorder({"xo", "y"});
              c.lay_out("A", "i1,i0");
              if (unrolled) c.unroll("xi");
            });
            if (slots > 1) c.s.annotate("xo", "slots", slots);
            return true;
          }};
}

std::string outcome(const Task& task, bool unrolled, const Decisions& decisions) {
  const auto made = run(sketch(unrolled), task, decisions);
  if (!made.ok()) return to_string(made.errors());
  std::string text = to_string(made->trace) + loops::to_string(made->program);
  for (const auto& [parameter, layout] : made->layouts) text += parameter + " " + layout + "\n";
  for (const Decision& decision : made->decisions) text += decision.name + " = " + decision.value + "\n";
  return text;
}

}  // namespace

TEST_CASE("schedule memo: a schedule that is taken from it is the one that is written without") {
  const auto memo = std::make_shared<ScheduleMemo>(), forgetful = std::make_shared<ScheduleMemo>(1);
  for (int round = 0; round < 2; ++round)
    for (const char* name : {"p", "q"})
      for (const char* rows : {"8", "12"})
        for (const bool unrolled : {false, true})
          for (const Decisions& decisions :
               {Decisions{}, Decisions{{"tile", "8"}}, Decisions{{"slots", "1"}}, Decisions{{"tile", "3"}}}) {
            const loops::Program operation = program(name, rows);
            const std::string expected = outcome(task_of(operation, nullptr), unrolled, decisions);
            CHECK(outcome(task_of(operation, memo), unrolled, decisions) == expected);
            CHECK(outcome(task_of(operation, forgetful), unrolled, decisions) == expected);
          }
  // Of each round two names, two sizes, a fact, three decisions that are accepted. Names and slots do not matter.
  CHECK(memo->asked() == 48);
  CHECK(memo->found() == 40);
}

TEST_CASE("schedule memo: intrinsics tell tasks apart, facts do not") {
  const loops::IntrinsicTable none, one{{"copy", program("p"), {"", ""}, {}}};
  loops::IntrinsicTable in_place = one;
  in_place.front().in_place = true;
  CHECK(text_of(one) != text_of(in_place));
  CHECK(text_of(one) != text_of(none));
  const auto memo = std::make_shared<ScheduleMemo>();
  const auto known_as = [&](const Json& facts, const loops::IntrinsicTable& intrinsics) {
    Task task{"accel", "copy", program("p")};
    task.facts = facts;
    keep_schedules(task, memo, text_of(intrinsics));
    return task.kept_as;
  };
  CHECK(known_as({{"bus", 8}}, none) == known_as({{"bus", 16}}, none));
  CHECK(known_as({}, none) != known_as({}, one));
}

TEST_CASE("schedule memo: a task whose schedules are kept is the same task") {
  const Task task = task_of(program("p"), nullptr), kept = task_of(program("p"), std::make_shared<ScheduleMemo>());
  CHECK(key(kept) == key(task));
  CHECK(to_string(kept) == to_string(task));
}

}  // namespace dovetail::schedule
