// Decisions in traces: recorded, and referred to by name, factor and expression.
#include "compiler/schedule/decisions.h"
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule;
using namespace dovetail::schedule::test;

namespace {

const std::string kSampleCopy =
    "program p { input x: int32[16] output y: int32[16] for i in 16 { block b { spatial v in 16 = i reads x[v] writes "
    "y[v] y[v] = x[v] } } }";

const dovetail::loops::IntrinsicTable kNone;

}  // namespace

TEST_CASE("schedule: a sample decides a number that later steps name") {
  const std::string text = scheduled(kSampleCopy, "sample tile among 4,8,16 = 8\nsplit i $tile -> o n");
  CHECK(text == scheduled(kSampleCopy, "split i 8 -> o n"));
  CHECK(scheduled(kSampleCopy, "sample tile among 4,8\ntransform_layout y i0/$tile,i0%$tile") ==
        scheduled(kSampleCopy, "transform_layout y i0/4,i0%4"));
}

TEST_CASE("schedule: a trace keeps names, and replays to the same program") {
  Schedule schedule(parsed(kSampleCopy), kNone);
  schedule.sample("tile", "among", "4,8,16", "=", 8).split("i", "$tile", "o", "n");
  REQUIRE(schedule.status().ok());
  CHECK(to_string(schedule.trace()) == "sample tile among 4,8,16 = 8\nsplit i $tile -> o n\n");
  REQUIRE(schedule.decisions().size() == 1);
  CHECK(schedule.decisions()[0].name == "tile");
  CHECK(schedule.decisions()[0].value == "8");
  CHECK(schedule.decisions()[0].space.values == std::vector<std::string>{"4", "8", "16"});
  Schedule replayed(parsed(kSampleCopy), kNone);
  REQUIRE(replayed.replay(schedule.trace()).ok());
  CHECK(dovetail::loops::to_string(replayed.program()) == scheduled(kSampleCopy, "split i 8 -> o n"));
}

TEST_CASE("schedule: a sample without a value takes the first of its space, and records it") {
  Schedule schedule(parsed(kSampleCopy), kNone);
  schedule.sample("tile", "among", "4,8").sample("xs", "factors", "12:2").sample("order", "either", "a,b|b,a");
  REQUIRE(schedule.status().ok());
  CHECK(to_string(schedule.trace()) ==
        "sample tile among 4,8 = 4\nsample xs factors 12:2 = 12,1\nsample order either a,b|b,a = a,b\n");
}

TEST_CASE("schedule: words, lists and factors can be decided too") {
  CHECK(scheduled(kSampleCopy, "sample loop among i,j = i\nsplit $loop 4 -> o n") ==
        scheduled(kSampleCopy, "split i 4 -> o n"));
  CHECK(scheduled(kSampleCopy, "sample map either i0|i0/4,i0%4 = i0/4,i0%4\ntransform_layout y $map") ==
        scheduled(kSampleCopy, "transform_layout y i0/4,i0%4"));
  CHECK(scheduled(kSampleCopy, "sample xs factors 16:3 = 2,4,2\nsplit i $xs.2 -> o n\nsplit o $xs.1 -> a b") ==
        scheduled(kSampleCopy, "split i 2 -> o n\nsplit o 4 -> a b"));
}

TEST_CASE("schedule: the factors of a number are all combinations with that product") {
  const Space twelve = Space::factors(12, 2);
  CHECK(twelve.values == std::vector<std::string>{"12,1", "6,2", "4,3", "3,4", "2,6", "1,12"});
  CHECK(Space::factors(16, 3).values.size() == 15);  // (4 + 2 choose 2)
  CHECK(Space::parse("xs", "factors", "12:2")->values == twelve.values);
}

TEST_CASE("schedule: expressions of decisions") {
  const auto factor_of = [](const std::string& expression) {
    return scheduled(kSampleCopy, "sample a among 4,2\nsample xs factors 6:2 = 3,2\nsplit i " + expression + " -> o n");
  };
  const auto plain = [](int factor) { return scheduled(kSampleCopy, "split i " + std::to_string(factor) + " -> o n"); };
  CHECK(factor_of("$(a*2)") == plain(8));
  CHECK(factor_of("$(a+xs.0*2-(a/2))") == plain(8));
  CHECK(factor_of("$(min(a,xs.1)*max(1,2))") == plain(4));
  CHECK(factor_of("$(17%a+3)") == plain(4));
  // The candidates of another sample may be expressions too.
  CHECK(scheduled(kSampleCopy, "sample a among 4\nsample b among 1,$(a*2) = 8\nsplit i $b -> o n") == plain(8));
}

TEST_CASE("schedule refusals: samples") {
  check_refused(kSampleCopy, "sample tile of 4,8 = 8",
                "«of» is not a rule. Hint: the rules are among, either and factors");
  check_refused(kSampleCopy, "sample tile among 4,8 is 8",
                "`sample tile among 4,8 is 8` is not a sample step. Hint: write `sample NAME among 4,8,16 = 8`");
  check_refused(kSampleCopy, "sample a.b among 4,8",
                "«a.b» is not a name. Hint: use letters, digits and _; do not begin with a digit");
  check_refused(kSampleCopy, "sample 2 among 4,8", "«2» is not a name");
  check_refused(kSampleCopy, "sample tile among 4,,8", "a candidate of «4,,8» is empty");
  check_refused(kSampleCopy, "sample tile among 4,8 = 5", "5 is not among the candidates. Hint: choose one of 4, 8");
  check_refused(kSampleCopy, "sample tile among 4\nsample tile among 8",
                "cannot sample tile (schedule): the decision already exists, with value 4. Hint: choose another name");
  check_refused(kSampleCopy, "split i $tile",
                "cannot use $tile (schedule): no earlier sample step defines this decision. Hint: write `sample NAME "
                "among 4,8,16` first");
  check_refused(
      kSampleCopy, "sample tile among 4\nsplit i $tiles",
      "cannot use $tiles (schedule): no earlier sample step defines this decision. Hint: the decisions are tile");
  check_refused(kSampleCopy, "sample xs factors 12",
                "«12» is not a number with 2 to 6 factors. Hint: write `factors 48:3`");
  check_refused(kSampleCopy, "sample xs factors 12:2 = 5,2",
                "5,2 is not among the candidates. Hint: choose one of 12,1, 6,2");
  check_refused(kSampleCopy, "sample xs factors 12:2\nsplit i $xs.2", "xs is a decision of the form factors 12:2");
  check_refused(kSampleCopy, "sample xs factors 720720:6", "the decision has more than 65536 values");
}

TEST_CASE("schedule refusals: expressions of decisions") {
  const std::string a = "sample a among 4\nsample w among x\nsplit i ";
  check_refused(kSampleCopy, a + "$(a*)", "a number or a decision is missing");
  check_refused(kSampleCopy, a + "$(a/0)", "the expression divides by 0");
  check_refused(kSampleCopy, a + "$(a", "the parenthesis is not closed");
  check_refused(kSampleCopy, a + "$(w+1)", "w is the word x, not a number");
  check_refused(kSampleCopy, a + "$(b+1)", "no earlier sample step defines this decision");
  check_refused(kSampleCopy, a + "$(9223372036854775807*a)", "a value exceeds 64 bits");
  check_refused(kSampleCopy, a + "$(a$)", "unexpected «$»");
  check_refused(kSampleCopy, a + "$(" + std::string(40, '(') + "a" + std::string(40, ')') + ")",
                "the expression is nested too deeply");
}
