// Tables of measured candidates: as text, and made of a task.
#include "explore/replay/table.h"

#include <cmath>

#include "base/file.h"
#include "explore/replay/tasks.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::explore;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kText =
    "dovetail tuning table 1\nname accel.example\ntask 0123456789abcdef\nsketch 2\nmachine cycle simulator, ideal\n"
    "unit cycles\nholds a sample\ncost tile_o order pack\n12.5 4 y,x -\nwrong 2 x,y yes\n1000000 1 y,x -\n";

}  // namespace

TEST_CASE("tuning table: a table that is read is printed again") {
  const auto table = parse_table(kText, "test");
  REQUIRE(table.ok());
  CHECK(to_string(*table) == kText);
  CHECK(table->machine == "cycle simulator, ideal");
  CHECK_FALSE(table->whole);
  REQUIRE(table->rows.size() == 3);
  CHECK(table->rows[0].decisions == schedule::Decisions{{"tile_o", "4"}, {"order", "y,x"}});
  CHECK(table->rows[1].outcome == tune::Outcome::wrong);
  CHECK(std::isinf(table->rows[1].cost));
  CHECK(table->rows[2].cost == 1e6);
}

TEST_CASE("tuning table: an invalid table is refused, with the line") {
  const auto refused = [](std::string_view from, std::string_view to) {
    std::string text = kText;
    text.replace(text.find(from), from.size(), to);
    return to_string(parse_table(text, "file").errors());
  };
  CHECK_THAT(refused("table 1", "table 2"), ContainsSubstring("file:1"));
  CHECK_THAT(refused("sketch 2", "sketch two"),
             ContainsSubstring("file:4") && ContainsSubstring("the version two is not a number"));
  CHECK_THAT(refused("unit cycles\n", ""), ContainsSubstring("expected \"unit ...\""));
  CHECK_THAT(refused("a sample", "some"), ContainsSubstring("file:7"));
  CHECK_THAT(refused("cost tile_o", "tile_o"), ContainsSubstring("does not begin with \"cost\""));
  CHECK_THAT(refused("x,y yes", "x,y"),
             ContainsSubstring("file:10") && ContainsSubstring("3 words, but there are 4 columns"));
  CHECK_THAT(refused("1000000", "fast"), ContainsSubstring("fast is neither a cost nor an outcome"));
  CHECK_THAT(refused("12.5", "-1"), ContainsSubstring("file:9"));
  CHECK_THAT(refused("12.5", "crashed"), ContainsSubstring("must be the measured default schedule"));
}

TEST_CASE("tuning table: the tree has a table for each task, with its name") {
  for (const ReplayTask& task : replay_tasks()) {
    const std::string path = DOVETAIL_SOURCE_DIR "/bench/tuning/tables/" + std::string(task.name) + ".txt";
    const auto text = read_text_file(path);
    REQUIRE(text.ok());
    const auto table = parse_table(*text, path);
    INFO(path);
    REQUIRE(table.ok());
    CHECK(table->name == task.name);
    CHECK_FALSE(table->decisions.empty());
    CHECK(table->rows.size() > 1);
  }
}
