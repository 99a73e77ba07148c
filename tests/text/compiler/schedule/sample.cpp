// Decisions in traces: recorded, referred to, varied.
#include "compiler/schedule/decisions.h"
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule;
using namespace dovetail::schedule::test;

namespace {

const std::string kCopy =
    "program p { input x: int32[16] output y: int32[16] for i in 16 { block b { spatial v in 16 = i reads x[v] writes "
    "y[v] y[v] = x[v] } } }";

const dovetail::loops::IntrinsicTable kNone;

}  // namespace

TEST_CASE("schedule: a sample decides a number that later steps name") {
  const std::string text = scheduled(kCopy, "sample tile among 4,8,16 = 8\nsplit i $tile -> o n");
  CHECK(text == scheduled(kCopy, "split i 8 -> o n"));
  CHECK(scheduled(kCopy, "sample tile among 4,8\ntransform_layout y i0/$tile,i0%$tile") ==
        scheduled(kCopy, "transform_layout y i0/4,i0%4"));
}

TEST_CASE("schedule: a trace keeps names, and replays under another decision") {
  Schedule schedule(parsed(kCopy), kNone);
  CHECK(schedule.sample("tile", {4, 8, 16}) == 4);
  schedule.split("i", "$tile", "o", "n");
  REQUIRE(schedule.status().ok());
  CHECK(to_string(schedule.trace()) == "sample tile among 4,8,16 = 4\nsplit i $tile -> o n\n");
  const auto other = with_decision(schedule.trace(), "tile", 16);
  REQUIRE(other.ok());
  CHECK(to_string(*other) == "sample tile among 4,8,16 = 16\nsplit i $tile -> o n\n");
  Schedule replayed(parsed(kCopy), kNone);
  REQUIRE(replayed.replay(*other).ok());
  CHECK(dovetail::loops::to_string(replayed.program()) == scheduled(kCopy, "split i 16 -> o n"));
  CHECK(to_string(with_decision(schedule.trace(), "tile", 5).errors()) ==
        "error: cannot sample tile (schedule): 5 is not among its candidates. Hint: choose one of 4, 8, 16");
}

TEST_CASE("schedule: decide presets what a schedule function samples") {
  Schedule schedule(parsed(kCopy), kNone);
  schedule.decide({{"tile", 8}});
  CHECK(schedule.sample("tile", {4, 8, 16}) == 8);
  CHECK(schedule.sample("other", {2, 3}) == 2);
  schedule.decide({{"third", 7}});
  CHECK(schedule.sample("third", {2, 3}) == 1);
  CHECK_THAT(dovetail::to_string(schedule.status().errors()),
             Catch::Matchers::ContainsSubstring("7 is not among its candidates"));
}

TEST_CASE("schedule refusals: samples") {
  check_refused(kCopy, "sample tile of 4,8 = 8",
                "`sample tile of 4,8 = 8` is not of its form. Hint: write `sample NAME among 4,8,16 = 8`");
  check_refused(kCopy, "sample a.b among 4,8", "«a.b» is no name. Hint: names are letters, digits and _");
  check_refused(kCopy, "sample tile among 4,x", "a candidate of tile must be an integer of at least 1");
  check_refused(kCopy, "sample tile among 4,8 = 5", "5 is not among its candidates. Hint: choose one of 4, 8");
  check_refused(kCopy, "sample tile among 4\nsample tile among 8",
                "cannot sample tile (schedule): it is decided already, as 4. Hint: choose another name");
  check_refused(
      kCopy, "split i $tile",
      "cannot use $tile (schedule): no sample decided it before. Hint: write `sample NAME among 4,8,16` first");
  check_refused(kCopy, "sample tile among 4\nsplit i $tiles",
                "cannot use $tiles (schedule): no sample decided it before. Hint: the decisions are tile");
}
