// The memory that the tile model computes for a tile equals that of the sketch's program for the tile; and task and
// trace reproduce that program. Random operations on every named configuration.
#include <array>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/programs/layout.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/schedule/tile_model.h"
#include "compiler/target/accel/schedule/written_steps.h"
#include "loops/print.h"
#include "tests/catch.h"
#include "tests/property/compiler/accel/random_operation.h"

using namespace dovetail;
using namespace dovetail::accel;

namespace {

std::string decided(const schedule::Decisions& decisions) {
  std::string text;
  for (const auto& [name, value] : decisions) text += fmt::format("{}={} ", name, value);
  return text;
}

// Runs the sketch as decided; the model's sizes for that tile must equal those of its program.
schedule::Scheduled check_needs(const RandomOperation& operation, const schedule::Task& task,
                                std::span<const OnChip> places, const isa::HardwareConfig& config,
                                const schedule::Decisions& given) {
  const TileModel model(task.program, places, config);
  const auto scheduled = schedule::run(sketch_of(*operation.kind, config), task, given);
  INFO("decided " << decided(given) << (scheduled.ok() ? "" : to_string(scheduled.errors())));
  REQUIRE(scheduled.ok());
  const TensorLayout layout = make_layout(config, 1, 1, 1, 1);
  std::vector<std::int64_t> tile = model.footprint().whole();
  for (const auto& [decision, loop, unit] :
       {std::tuple("tile_n", "out.n", layout.batch), std::tuple("tile_o", "out.o", layout.block),
        std::tuple("tile_y", "out.y", std::int64_t{1}), std::tuple("tile_x", "out.x", std::int64_t{1}),
        std::tuple("tile_c", kChannelsOfSums, layout.block)})
    for (const schedule::Decision& made : scheduled->decisions)
      if (const auto at = model.footprint().find(loop); at && made.name == decision)
        tile[*at] = std::stoll(made.value) * unit;
  Slots slots;
  for (const auto& [decision, count] :
       {std::pair("slots_inp", &slots.inp), std::pair("slots_wgt", &slots.wgt), std::pair("slots_acc", &slots.acc)})
    for (const schedule::Decision& made : scheduled->decisions)
      if (made.name == decision) *count = std::stoll(made.value);
  std::map<isa::Memory, std::int64_t> used;
  const Placements found = *find_places(scheduled->program, *task.intrinsics, config);
  for (const auto& [buffer, place] : found)
    if (!place.in_place_of) used[place.memory] += place.all_elements();
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc}) {
    INFO("memory " << static_cast<int>(memory) << "\n" << loops::to_string(scheduled->program));
    CHECK(model.needs(memory, tile, slots) == used[memory]);
  }
  // Where ACC holds it, the tile fits buffers of exactly that size, and no buffer that is an element smaller.
  if (used[isa::Memory::acc] <= config.depth(isa::Memory::acc)) {
    constexpr std::array buffers{std::pair(isa::Memory::inp, &isa::HardwareConfig::inp_buffer_bytes),
                                 std::pair(isa::Memory::wgt, &isa::HardwareConfig::wgt_buffer_bytes)};
    isa::HardwareConfig exact = config;
    for (const auto& [memory, bytes] : buffers)
      exact.*bytes =
          (used[memory] + config.depth(memory) - usable_depth(config, memory)) * config.element_bytes(memory);
    CHECK(TileModel(task.program, places, exact).fits(tile, slots));
    for (const auto& [memory, bytes] : buffers) {
      if (used[memory] == 0) continue;
      isa::HardwareConfig less = exact;
      less.*bytes -= config.element_bytes(memory);
      CHECK_FALSE(TileModel(task.program, places, less).fits(tile, slots));
    }
  }
  const auto again = schedule::replay(task, scheduled->trace);
  REQUIRE(again.ok());
  CHECK(loops::to_string(*again) == loops::to_string(scheduled->program));
  return *scheduled;
}

}  // namespace

TEST_CASE("accelerator: a tile needs the memory that the model computes, and task and trace reproduce its program") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
      Memo memo;
      int tiles = 0;
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SplitMix64 random(seed);
        const RandomOperation operation = random_operation(random, config);
        INFO("seed " << seed << "\n" << loops::to_string(operation.program));
        if (!smallest_tile_fits(*operation.kind, operation.program, config).ok()) continue;
        const schedule::Task task = make_task(*operation.kind, operation.program, config, intrinsics);
        schedule::Decisions given;
        for (const char* name : {"tile_o", "tile_c", "tile_n", "tile_y", "tile_x"}) given[name] = "1";
        const auto smallest = schedule::run(sketch_of(*operation.kind, config), task, given);
        REQUIRE(smallest.ok());
        const std::vector<OnChip> places =
            on_chip_places(task.program, smallest->program, *find_places(smallest->program, *task.intrinsics, config));
        // The places for all operations of the form, whatever their extents.
        const auto of_form = memo.ask(TilePlaces(task_of_steps(task, memo), config));
        REQUIRE(of_form.ok());
        CHECK(**of_form == places);
        const schedule::Scheduled chosen = check_needs(operation, task, places, config, {});
        ++tiles;
        for (int varied = 0; varied < 3; ++varied) {
          // The other decisions depend on the tile.
          for (const schedule::Decision& decision : chosen.decisions)
            if (decision.name.starts_with("tile_"))
              given[decision.name] = decision.space.values[random.next() % decision.space.values.size()];
          for (const char* name : {"slots_inp", "slots_wgt", "slots_acc"}) given[name] = "1";
          check_needs(operation, task, places, config, given);
          ++tiles;
        }
      }
      CHECK(tiles > 0);
    }
  }
}
