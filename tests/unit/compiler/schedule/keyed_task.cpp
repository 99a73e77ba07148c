// The key of a task covers everything that its schedules depend on, and no more; kept steps are equal to steps taken
// anew.
#include "compiler/schedule/keyed_task.h"

#include <functional>
#include <memory>
#include <string>

#include "compiler/schedule/context.h"
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

}  // namespace

TEST_CASE("keyed task: every part of a task but its program's name distinguishes it from others") {
  Memo memo;
  const Task task{"accel", "copy", program("p")};
  const KeyedTask keyed(task, memo);
  const auto differs = [&](const std::function<void(Task&)>& change) {
    Task other = task;
    change(other);
    const KeyedTask changed(other, memo);
    CHECK((changed == keyed) == (changed.text() == keyed.text()));
    CHECK((changed == keyed) == (changed <=> keyed == 0));
    return changed != keyed;
  };
  CHECK_FALSE(differs([](Task&) {}));
  CHECK_FALSE(differs([](Task& t) { t.program.name = "q"; }));
  CHECK_FALSE(differs([](Task& t) { t.program = program("q"); }));  // other nodes of the same text
  CHECK_FALSE(differs([](Task& t) { t.intrinsics = std::make_shared<loops::IntrinsicTable>(); }));
  CHECK(differs([](Task& t) { t.target = "cpu"; }));
  CHECK(differs([](Task& t) { t.kind = "move"; }));
  CHECK(differs([](Task& t) { t.program = program("p", "12"); }));
  CHECK(differs([](Task& t) { t.prepared = {"shift_activations"}; }));
  CHECK(differs([](Task& t) { t.layouts["A"] = "i1,i0"; }));
  CHECK(differs([](Task& t) { t.facts["lanes"] = 8; }));
  CHECK(differs([](Task& t) { t.intent.start = Start::alone; }));
  CHECK(differs([](Task& t) { t.intent.order = TileOrder::pixels_first; }));
  const loops::Intrinsic row{"copy", program("p"), {"", ""}, {}};
  const auto with = [](const loops::Intrinsic& intrinsic) {
    return [intrinsic](Task& t) {
      t.intrinsics = std::make_shared<loops::IntrinsicTable>(loops::IntrinsicTable{intrinsic});
    };
  };
  CHECK(differs(with(row)));
  loops::Intrinsic in_place = row;
  in_place.in_place = true;
  Task one = task, other = task;
  with(row)(one), with(in_place)(other);
  CHECK(KeyedTask(one, memo) != KeyedTask(other, memo));
}

TEST_CASE("kept steps: a schedule that uses them equals one that takes them anew") {
  const Task task{"accel", "copy", program("p")};
  const auto write = [](Context& c) {
    c.split("x", 4, "xo", "xi");
    c.reorder({"xo", "y"});
    c.lay_out("A", "i1,i0");
  };
  Context alone(task);
  write(alone);
  const KeptSteps kept = alone.kept();
  const auto outcome = [&](bool take) {
    Task named = task;
    named.program.name = "q";
    Context c(named);
    c.sample("tile", std::vector<std::int64_t>{2, 4}, 4);
    if (take) c.take(kept);
    else write(c);
    c.s.annotate("xo", "slots", 2);
    const auto made = c.finish();
    if (!made.ok()) return to_string(made.errors());
    std::string text = to_string(made->trace) + loops::to_string(made->program);
    for (const auto& [parameter, layout] : made->layouts) text += parameter + " " + layout + "\n";
    for (const Decision& decision : made->decisions) text += decision.name + " = " + decision.value + "\n";
    return text;
  };
  CHECK(outcome(true) == outcome(false));
}

}  // namespace dovetail::schedule
