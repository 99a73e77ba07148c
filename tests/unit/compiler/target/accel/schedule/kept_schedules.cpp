// Schedules that are kept from task to task: a task that iterates over pixels first does not use those of one that
// iterates over channels first, and vice versa.
#include "base/memo.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/programs/moves.h"
#include "compiler/target/accel/programs/programs.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "loops/print.h"
#include "tests/catch.h"

namespace dovetail::accel {

TEST_CASE("kept schedules: each order of tiles of a task has its own") {
  const isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
  const TensorLayout layout = make_layout(config, 1, 64, 16, 16);
  MoveSpec clip;
  clip.name = "clip";
  clip.y = layout;
  clip.blocks = 4;
  clip.rows = clip.columns = {0, 1, 16};
  clip.terms.emplace_back();
  clip.terms[0].x = layout;
  clip.terms[0].rows = clip.terms[0].columns = {0, 1, 16};
  clip.y_max = 40;
  clip.widening = cheapest_widening(config);
  const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
  const schedule::Decisions decisions{
      {"tile_o", "2"}, {"tile_c", "1"}, {"tile_n", "1"}, {"tile_y", "4"}, {"tile_x", "16"}};
  // The schedule of a task with that order, given what other tasks have kept.
  const auto scheduled = [&](bool pixels_first, const std::shared_ptr<Memo>& memo) {
    schedule::Task task = make_task(kMove, move_program(clip, config), config, intrinsics);
    if (pixels_first) task.intent.order = schedule::TileOrder::pixels_first;
    const auto made = schedule::run(sketch_of(kMove, config, memo), task, decisions);
    if (!made.ok()) FAIL(to_string(made.errors()));
    return loops::to_string(made->program);
  };
  const std::string by_channels = scheduled(false, nullptr), by_pixels = scheduled(true, nullptr);
  REQUIRE(by_channels != by_pixels);
  for (const bool first : {false, true}) {
    const auto memo = std::make_shared<Memo>();
    CHECK(scheduled(first, memo) == (first ? by_pixels : by_channels));
    CHECK(scheduled(!first, memo) == (first ? by_channels : by_pixels));
  }
}

}  // namespace dovetail::accel
