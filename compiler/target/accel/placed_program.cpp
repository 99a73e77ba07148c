#include "compiler/target/accel/placed_program.h"

#include <tuple>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/target/accel/schedule/written_steps.h"

namespace dovetail::accel {

PlacedProgramOf::PlacedProgramOf(schedule::KeyedTask task, const schedule::Scheduled& scheduled,
                                 const BlockSizes& sizes)
    : task_(std::move(task)),
      trace_(schedule::to_string(scheduled.trace)),
      program_(scheduled.program),
      sizes_(sizes) {}

std::strong_ordering PlacedProgramOf::operator<=>(const PlacedProgramOf& other) const {
  return std::tie(task_, trace_, sizes_) <=> std::tie(other.task_, other.trace_, other.sizes_);
}

Result<PlacedProgram> PlacedProgramOf::answer() const {
  const schedule::Task& task = task_.task();
  DOVETAIL_ASSIGN(Placements found, find_places(program_, *task.intrinsics, sizes_));
  std::vector<OnChip> on_chip = on_chip_places(task.program, program_, found);
  return PlacedProgram{program_, task.intrinsics, std::move(found), std::move(on_chip)};
}

std::shared_ptr<const PlacedProgram> place_program(const schedule::Task& task, schedule::Scheduled& scheduled,
                                                   const BlockSizes& sizes, Memo& memo) {
  const schedule::KeyedTask keyed = task_of_steps(task, memo);
  const std::shared_ptr<const PlacedProgram> placed = *memo.ask(PlacedProgramOf(keyed, scheduled, sizes));
  const std::shared_ptr<const std::vector<OnChip>> expected = *memo.ask(TilePlaces(keyed, sizes));
  DOVETAIL_CHECK(placed->on_chip == *expected,
                 fmt::format("{} needs the places by which its tile was chosen", task.program.name));
  std::string name = std::move(scheduled.program.name);
  scheduled.program = placed->program;
  scheduled.program.name = std::move(name);
  return placed;
}

LoweredProgramAt::LoweredProgramAt(std::shared_ptr<const PlacedProgram> program, const Placements& placements,
                                   const LoweringFacts& lowering)
    : placed(std::move(program)), facts(lowering) {
  for (const loops::Buffer& buffer : placed->program.allocations) {
    const Placement& placement = placements.at(buffer.get());
    begins.push_back({placement.base, placement.first});
  }
}

Result<Lowered> LoweredProgramAt::answer() const {
  Placements placements = placed->placements;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    Placement& placement = placements.at(placed->program.allocations[i].get());
    placement.base = begins[i].base;
    placement.first = begins[i].first;
  }
  return lower(placed->program, *placed->intrinsics, facts, placements);
}

}  // namespace dovetail::accel
