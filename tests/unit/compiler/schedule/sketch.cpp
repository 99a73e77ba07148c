// Sketches and tasks: decisions, who makes them, and that a trace and a task reproduce the program.
#include "compiler/schedule/sketch.h"

#include <set>

#include "base/random.h"
#include "compiler/schedule/context.h"
#include "compiler/schedule/recorded.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::schedule;

namespace {

Task copy_task(const std::string& name = "p") {
  auto program = loops::parse_program(
      "program " + name +
          " { input x: int32[16] output y: int32[16] for i in 16 { block b { spatial v in 16 = i reads x[v] writes "
          "y[v] y[v] = x[v] } } }",
      "test");
  REQUIRE(program.ok());
  return {"test", "copy", *std::move(program)};
}

// Two factors of the loop, decided together: the second at most the first, the cost least where they are near 4 and 2.
bool write_copy(Context& c) {
  const std::array<Choice, 2> choices{{{"outer",
                                        [](std::span<const std::int64_t>) {
                                          return std::vector<std::int64_t>{8, 4, 2};
                                        }},
                                       {"inner", [](std::span<const std::int64_t> before) {
                                          std::vector<std::int64_t> all;
                                          for (std::int64_t i = 1; i <= before[0]; i *= 2) all.push_back(i);
                                          return all;
                                        }}}};
  const Cost cost = [](std::span<const std::int64_t> values) -> std::optional<double> {
    if (values[0] == 8) return std::nullopt;  // does not fit
    return std::abs(static_cast<double>(values[0] - 4)) + std::abs(static_cast<double>(values[1] - 2));
  };
  const std::vector<std::int64_t> factors = c.sample(choices, [&] { return Result<Cost>(cost); });
  if (factors.empty()) {
    c.s.fail({{"nothing fits", "", "", ""}});
    return true;
  }
  c.s.split("i", "$outer", "i_o", "i_i").split("i_i", "$inner", "i_m", "i_n");
  if (c.sample("unroll", {"no", "yes"}, "no") == "yes") c.unroll("i_n");
  return true;
}
const Sketch kCopy{"copy", 1, write_copy};

std::string decided(const Result<Scheduled>& scheduled) {
  if (!scheduled.ok()) return to_string(scheduled.errors());
  std::string text;
  for (const Decision& decision : scheduled->decisions) text += decision.name + "=" + decision.value + " ";
  return text;
}

}  // namespace

TEST_CASE("sketch: without decisions the analytic choice is taken") {
  CHECK(decided(run(kCopy, copy_task())) == "outer=4 inner=2 unroll=no ");
}

TEST_CASE("sketch: given decisions are kept, and the others depend on them") {
  CHECK(decided(run(kCopy, copy_task(), {{"outer", "2"}})) == "outer=2 inner=2 unroll=no ");
  CHECK(decided(run(kCopy, copy_task(), {{"inner", "1"}})) == "outer=4 inner=1 unroll=no ");
  CHECK(decided(run(kCopy, copy_task(), {{"unroll", "yes"}})) == "outer=4 inner=2 unroll=yes ");
  // Where all decisions are given the cost is not computed: the target decides whether the program fits.
  CHECK(decided(run(kCopy, copy_task(), {{"outer", "8"}, {"inner", "8"}})) == "outer=8 inner=8 unroll=no ");
}

TEST_CASE("sketch: invalid decisions are errors that list the valid ones") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(decided(run(kCopy, copy_task(), {{"outer", "3"}})),
             ContainsSubstring("3 is not among the candidates. Hint: choose one of 8, 4, 2"));
  CHECK_THAT(decided(run(kCopy, copy_task(), {{"outer", "2"}, {"inner", "4"}})),
             ContainsSubstring("4 is not among the candidates. Hint: choose one of 1, 2"));
  CHECK_THAT(decided(run(kCopy, copy_task(), {{"tile", "4"}})),
             ContainsSubstring("the sketch of test copy does not sample this decision"));
  CHECK_THAT(decided(run(kCopy, copy_task(), {{"outer", "8"}})), ContainsSubstring("nothing fits"));
  CHECK_THAT(decided(run({"copy", 1, [](Context&) { return false; }}, copy_task())),
             ContainsSubstring("the program is not of kind copy"));
}

TEST_CASE("sketch: task and trace reproduce the program, for any decisions") {
  const Task task = copy_task();
  for (const Decisions& given : {Decisions{}, Decisions{{"outer", "8"}, {"inner", "4"}, {"unroll", "yes"}}}) {
    const auto scheduled = run(kCopy, task, given);
    REQUIRE(scheduled.ok());
    const auto trace = parse_trace(to_string(scheduled->trace), "trace");
    REQUIRE(trace.ok());
    const auto again = replay(task, *trace);
    REQUIRE(again.ok());
    CHECK(loops::to_string(*again) == loops::to_string(scheduled->program));
  }
}

TEST_CASE("task: its key depends on the content, not on the name") {
  const Task task = copy_task();
  CHECK(key(task) == key(copy_task("another")));
  const auto changed = [&](const auto& change) {
    Task other = copy_task();
    change(other);
    return key(other) != key(task);
  };
  CHECK(changed([](Task& t) { t.target = "other"; }));
  CHECK(changed([](Task& t) { t.kind = "other"; }));
  CHECK(changed([](Task& t) { t.prepared.push_back("bound b"); }));
  CHECK(changed([](Task& t) { t.layouts["x"] = "i0/4,i0%4"; }));
  CHECK(changed([](Task& t) { t.facts["lanes"] = 8; }));
  CHECK(changed([](Task& t) { t.program.parameters[0].role = loops::ParameterRole::constant; }));
  CHECK(changed([](Task& t) {
    loops::Intrinsic row;
    row.name = "move";
    row.semantics = t.program;
    t.intrinsics = std::make_shared<loops::IntrinsicTable>(loops::IntrinsicTable{row});
  }));
}

TEST_CASE("sketch: in lenient mode, decisions that do not suit the others are left out") {
  const auto lenient = [](Decisions given) {
    auto scheduled = try_run(kCopy, copy_task(), Deciding{std::move(given), true});
    REQUIRE(scheduled.ok());
    return decided(**scheduled);
  };
  CHECK(lenient({{"outer", "2"}, {"inner", "4"}}) == "outer=2 inner=2 unroll=no ");
  CHECK(lenient({{"outer", "3"}, {"tile", "4"}, {"unroll", "yes"}}) == "outer=4 inner=2 unroll=yes ");
  // Whether a complete set of decisions fits is checked, since it was not made together.
  const auto misfit = try_run(kCopy, copy_task(), Deciding{{{"outer", "8"}, {"inner", "8"}}, true});
  CHECK_FALSE(misfit.ok());
}

TEST_CASE("sketch: the few candidates that cost least, the default first") {
  const auto best = [](std::size_t few, const Decisions& given = {}) {
    const auto all = run_best(kCopy, copy_task(), few, given);
    REQUIRE(all.ok());
    std::vector<std::string> texts;
    for (const Scheduled& each : *all) texts.push_back(decided(each));
    return texts;
  };
  using Texts = std::vector<std::string>;
  CHECK(best(1) == Texts{"outer=4 inner=2 unroll=no "});
  // Among equal costs the first; 8 fits nowhere, which leaves five.
  const Texts five{"outer=4 inner=2 unroll=no ", "outer=4 inner=1 unroll=no ", "outer=4 inner=4 unroll=no ",
                   "outer=2 inner=2 unroll=no ", "outer=2 inner=1 unroll=no "};
  CHECK(best(3) == Texts(five.begin(), five.begin() + 3));
  CHECK(best(100).size() == five.size());
  CHECK(best(100, {{"outer", "2"}, {"unroll", "yes"}}) ==
        Texts{"outer=2 inner=2 unroll=yes ", "outer=2 inner=1 unroll=yes "});
  CHECK(best(100, {{"tile", "3"}}).size() == five.size());  // unsuitable decisions are left out
  // A sketch without joint decisions has only its default.
  const auto alone = run_best({"copy", 1,
                               [](Context& c) {
                                 return c.sample("a", {"1", "2"}, "2") == "2";
                               }},
                              copy_task(), 3);
  REQUIRE(alone.ok());
  CHECK(alone->size() == 1);
  CHECK_FALSE(run_best({"copy", 1, [](Context&) { return false; }}, copy_task(), 3).ok());
}

TEST_CASE("sketch: open decisions may be drawn, among the values that fit") {
  std::set<std::string> seen;
  for (std::size_t seed = 0; seed < 200; ++seed) {
    SplitMix64 random(seed);
    const auto draw = [&](std::size_t count) { return static_cast<std::size_t>(random.next() % count); };
    const auto scheduled = try_run(kCopy, copy_task(), Deciding{{}, true, draw});
    REQUIRE(scheduled.ok());
    seen.insert(decided(**scheduled));
    const auto with = try_run(kCopy, copy_task(), Deciding{{{"inner", "2"}}, true, draw});
    REQUIRE(with.ok());
    CHECK_THAT(decided(**with), Catch::Matchers::ContainsSubstring("inner=2 "));
  }
  CHECK(seen.size() == 2 * (3 + 2));  // outer 4 with 1, 2, 4, or 2 with 1, 2; unrolled or not
  for (const std::string& text : seen) CHECK(text.find("outer=8") == std::string::npos);
}

TEST_CASE("sketch: a draw without any fitting value is an error") {
  SplitMix64 random(1);
  const auto draw = [&](std::size_t count) { return static_cast<std::size_t>(random.next() % count); };
  CHECK_FALSE(try_run(kCopy, copy_task(), Deciding{{{"outer", "8"}}, true, draw}).ok());
}

TEST_CASE("recorded schedules: they are used where the sketch accepts them, and the source of a schedule is reported") {
  const auto from = [](std::optional<Decisions> decisions) {
    Origin origin;
    const auto scheduled = try_run(
        kCopy, copy_task(),
        [&](const Task&, const Sketch&) {
          return Recorded{decisions, decisions ? "a record" : "no record"};
        },
        origin);
    REQUIRE(scheduled.ok());
    CHECK(origin.key == key(copy_task()));
    return decided(**scheduled) + (origin.recorded ? "by " : "without ") + origin.text;
  };
  CHECK(from(Decisions{{"outer", "2"}, {"inner", "1"}, {"unroll", "no"}}) == "outer=2 inner=1 unroll=no by a record");
  CHECK(from(std::nullopt) == "outer=4 inner=2 unroll=no without no record");
  CHECK_THAT(from(Decisions{{"outer", "3"}}),
             Catch::Matchers::StartsWith("outer=4 inner=2 unroll=no without default: the record is refused"));
  Origin nobody;
  CHECK(try_run(kCopy, copy_task(), nullptr, nobody).ok());
  CHECK(nobody.key.empty());
}
