// Steps that are tried, taken back and suggested.
#include "driver/kernels/editor.h"

#include <algorithm>

#include "loops/print.h"
#include "tests/unit/driver/kernels/programs.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("editor: undo restores the text, redo repeats the step, a new step ends what could be repeated") {
  LoopEditor editor(test::program_of(test::kProduct));
  const std::string written = loops::to_string(editor.program().program());
  CHECK(!editor.undo());
  const auto effect = editor.apply("split y.i 8");
  REQUIRE(effect.ok());
  CHECK(effect->step == "split y.i 8 -> y.i_0 y.i_1");
  CHECK(effect->now_legal == std::vector<std::string>{"parallel y.i_0", "parallel y.i_1"});
  CHECK(effect->no_longer_legal == std::vector<std::string>{"parallel y.i"});
  const std::string split = loops::to_string(editor.program().program());
  REQUIRE(editor.undo());
  CHECK(loops::to_string(editor.program().program()) == written);
  REQUIRE(editor.redo());
  CHECK(loops::to_string(editor.program().program()) == split);
  CHECK(!editor.redo());
  REQUIRE(editor.undo());
  REQUIRE(editor.apply("parallel y.i").ok());
  CHECK(!editor.redo());
  CHECK(editor.effects().size() == 1);
}

TEST_CASE("editor: a rejected step changes nothing") {
  LoopEditor editor(test::program_of(test::kProduct));
  const std::string written = loops::to_string(editor.program().program());
  const auto refused = [&](const std::string& step, const std::string& why) {
    const auto effect = editor.apply(step);
    REQUIRE(!effect.ok());
    CHECK_THAT(to_string(effect.errors()), ContainsSubstring(why));
    CHECK(loops::to_string(editor.program().program()) == written);
  };
  refused("vectorize y.r", "carry the reduce iterator");
  refused("split nothing 4", "nothing");
  refused("split y.i 4\nsplit y.j 4", "not one line");
  refused("", "not one line");
  CHECK(!editor.undo());
}

TEST_CASE("suggest: every listed step applies, and has the counts that it is listed with") {
  const LoopProgram program =
      test::program_of(test::kInt8Product, "split acc.j 16 -> jo ji\n", {.hardware = "1x16x16-ext"});
  for (const std::string name : {"acc.i", "ji", "acc.k", "high.j", "acc", "high", "y", "x", "w"}) {
    const auto suggestions = suggest(program, name);
    REQUIRE(suggestions.ok());
    CHECK(!suggestions->empty());
    for (const Suggestion& each : *suggestions) {
      INFO(name << ": " << each.step);
      LoopProgram after = program;
      const auto applied = after.apply(each.step);
      CHECK(applied.ok());
      CHECK(changes_text(each.counts, count_loops(after.program())).empty());
    }
  }
  const auto has = [&](const std::string& name, const std::string& step) {
    const auto suggestions = suggest(program, name);
    return std::ranges::find(*suggestions, step, &Suggestion::step) != suggestions->end();
  };
  CHECK(has("acc.i", "parallel acc.i"));
  CHECK(has("high", "inline high"));
  CHECK(!has("acc.k", "parallel acc.k"));  // it carries the sum
  CHECK(!has("acc", "inline acc"));
  const auto unknown = suggest(program, "q");
  REQUIRE(!unknown.ok());
  CHECK_THAT(to_string(unknown.errors()), ContainsSubstring("its loops and blocks are acc.i"));
}
