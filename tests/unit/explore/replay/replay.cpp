// Searches on tables: a table is made, is complete, and a search on it behaves as on the task itself.
#include "explore/replay/replay.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "bundle/code/accel.h"
#include "compiler/tune/neighbor_ranking.h"
#include "compiler/tune/sketch_space.h"
#include "explore/measure/accel.h"
#include "explore/replay/make_table.h"
#include "explore/replay/tasks.h"
#include "isa/config.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::explore;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::string_view kCommitted = "accel.conv3x3_small";

struct Replayable {
  FoundTask found;
  Table table;

  TableSpace space() const {
    auto made = TableSpace::make(found.task, found.sketch, table);
    if (!made) FAIL(to_string(made.errors()));
    return *std::move(made);
  }
};

// The first rows of a committed table.
Replayable committed_table() {
  const ReplayTask& row = **find_replay_task(kCommitted);
  const std::string path = DOVETAIL_SOURCE_DIR "/bench/tuning/tables/" + std::string(row.name) + ".txt";
  Replayable found{find_task(row).value(), parse_table(read_text_file(path).value(), path).value()};
  found.table.rows.resize(16);
  return found;
}

// A table that contains every candidate of its task.
Replayable whole_table() {
  const ReplayTask row{"accel.conv1x1_tiny", bundle::kAccelTarget, "convolution",
                       R"(graph tiny(%x: int8[1, 16, 2, 2]) -> (%y)
  constant %w: int8[32, 16, 1, 1]
  constant %b: int32[32]
  constant %s: float32[32]
  %y: int8[1, 32, 2, 2] = dovetail.qconv(%x, %w, %b, %s) {x_zero_point=-128, y_zero_point=3}
)"};
  FoundTask found = find_task(row).value();
  const auto measurer = make_accel_measurer(isa::load_config(kReplayHardware).value(), {})(found.task).value();
  Table table = make_table(found.task, found.sketch, *measurer, {}).value();
  REQUIRE(table.whole);
  table.name = row.name;
  return {std::move(found), std::move(table)};
}

}  // namespace

TEST_CASE("replay: a new table of a few candidates equals the committed one") {
  const Replayable committed = committed_table();
  const auto measurer =
      make_accel_measurer(isa::load_config(kReplayHardware).value(), {})(committed.found.task).value();
  const auto made = make_table(committed.found.task, committed.found.sketch, *measurer, {.most = 12});
  REQUIRE(made.ok());
  CHECK_FALSE(made->whole);
  CHECK(made->task == committed.table.task);
  CHECK(made->machine == committed.table.machine);
  REQUIRE(made->rows.size() == 12);
  // The same draws, and cycles are the same each time.
  for (std::size_t i = 0; i < made->rows.size(); ++i) {
    CHECK(made->rows[i].decisions == committed.table.rows[i].decisions);
    CHECK(made->rows[i].cost == committed.table.rows[i].cost);
  }
}

TEST_CASE("replay: rows that luck has made the best of a table are measured again") {
  const Replayable whole = whole_table();
  const auto measurer = make_accel_measurer(isa::load_config(kReplayHardware).value(), {})(whole.found.task).value();
  Table lucky = whole.table;
  for (std::size_t i = 1; i < lucky.rows.size(); i += 3) lucky.rows[i].cost *= 0.97;
  REQUIRE(measure_best_again(whole.found.task, whole.found.sketch, *measurer, lucky, 10, 3).ok());
  REQUIRE(lucky.rows.size() == whole.table.rows.size());
  const auto sorted = [](const Table& table) {
    std::vector<double> costs;
    for (std::size_t i = 1; i < table.rows.size(); ++i) costs.push_back(table.rows[i].cost);
    std::ranges::sort(costs);
    return costs;
  };
  // The ten best have their true costs, and none of the others is better; the others may still be lucky.
  const std::vector<double> now = sorted(lucky), truly = sorted(whole.table);
  for (std::size_t i = 0; i < 10; ++i) {
    CAPTURE(i);
    CHECK(now[i] == truly[i]);
  }
  CHECK(std::ranges::equal(lucky.rows, whole.table.rows, {}, &TableRow::decisions, &TableRow::decisions));

  lucky.task = "0123456789abcdef";
  CHECK_FALSE(measure_best_again(whole.found.task, whole.found.sketch, *measurer, lucky).ok());
}

TEST_CASE("replay: a table completes decisions as the task's own space does") {
  const Replayable whole = whole_table();
  TableSpace table = whole.space();
  tune::SketchSpace own(whole.found.task, whole.found.sketch);
  SplitMix64 random(3);
  CHECK(table.default_candidate()->text() == own.default_candidate()->text());
  for (int i = 0; i < 20; ++i) {
    // Two decisions of a draw, the others analytic.
    const tune::Candidate drawn = *table.complete({}, tune::Rest::random, random);
    schedule::Decisions requested;
    for (const std::size_t at : {random.next() % drawn.sampled.size(), random.next() % drawn.sampled.size()})
      requested.emplace(drawn.sampled[at].name, drawn.sampled[at].value);
    const auto there = table.complete(requested, tune::Rest::analytic, random);
    const auto expected = own.complete(requested, tune::Rest::analytic, random);
    REQUIRE(there.has_value() == expected.has_value());
    if (there) CHECK(there->text() == expected->text());
    if (there) CHECK(there->features == expected->features);
    const auto agreeing = table.complete(requested, tune::Rest::random, random);
    REQUIRE(agreeing);
    for (const auto& [name, value] : requested) CHECK(agreeing->decisions().at(name) == value);
  }
  // A decision without a row is left to the sketch.
  const auto left_out = table.complete({{"tile_y", "77"}}, tune::Rest::analytic, random);
  REQUIRE(left_out);
  CHECK(left_out->text() == table.default_candidate()->text());
}

TEST_CASE("replay: in as many trials as there are candidates, every search finds the table's best") {
  const Replayable whole = whole_table();
  TableSpace space = whole.space();
  const double best = std::ranges::min_element(whole.table.rows, {}, &TableRow::cost)->cost;
  for (const tune::SearchRow& search : tune::searches()) {
    INFO(search.name);
    tune::NeighborRanking ranking;
    const Curve curve = replay(space, search, ranking, 1, whole.table.rows.size(), 8);
    CHECK(curve.size() == whole.table.rows.size() + 1);
    CHECK(curve.front() == whole.table.rows.front().cost);
    CHECK(std::ranges::is_sorted(curve, std::ranges::greater()));
    CHECK(curve.back() == best);
    tune::NeighborRanking again;
    CHECK(replay(space, search, again, 1, 24, 8) == Curve(curve.begin(), curve.begin() + 25));
  }
}

TEST_CASE("replay: a table of another task is refused, with the command that makes it again") {
  const Replayable committed = committed_table();
  const auto refused = [&](const std::function<void(Table&)>& change) {
    Table table = committed.table;
    change(table);
    const auto space = TableSpace::make(committed.found.task, committed.found.sketch, table);
    return to_string(space.errors());
  };
  CHECK_THAT(refused([](Table& table) { table.task = "0000000000000000"; }),
             ContainsSubstring("the table is for task 0000000000000000") &&
                 ContainsSubstring("./dev tuning tables accel.conv3x3_small"));
  CHECK_THAT(refused([](Table& table) { ++table.sketch_version; }), ContainsSubstring("version"));
  CHECK_THAT(refused([](Table& table) { table.rows[3].decisions["tile_o"] = "17"; }),
             ContainsSubstring("the sketch rejects"));
  CHECK_THAT(refused([](Table& table) { table.rows[3].decisions.erase("tile_o"); }),
             ContainsSubstring("where the table"));
  CHECK_THAT(refused([](Table& table) { table.rows[3] = table.rows[2]; }), ContainsSubstring("twice"));
}

TEST_CASE("replay: medians, means, and trials to a cost") {
  CHECK(median({5, 1, 3}) == 3);
  const std::vector<Curve> seeds{{8, 4, 4}, {8, 8, 2}, {8, 6, 1}};
  CHECK(median_curve(seeds) == Curve{8, 6, 2});
  TaskCurves one{.name = "one", .best_cost = 1, .searches = {seeds}};
  TaskCurves other{.name = "other", .best_cost = 4, .searches = {{{8, 6, 2}}}};
  const std::vector<TaskCurves> tasks{one, other};
  const Curve mean = mean_curve(tasks, 0);
  REQUIRE(mean.size() == 3);
  CHECK(mean[0] == Approx(4));  // 8 and 2
  CHECK(mean[1] == Approx(3));  // 6 and 1.5
  CHECK(trials_to(seeds[0], 4) == 1);
  CHECK(trials_to(seeds[0], 8) == 0);
  CHECK_FALSE(trials_to(seeds[0], 3).has_value());
}
