// What compilations for one hardware leave to those for others, as those of a sweep are: schedules, where the buffers
// of operations lie, and the instructions of operations. Everything is kept under all that it follows from, so that
// programs are the same with it and without. May be used by several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/recent.h"
#include "compiler/schedule/schedule_memo.h"
#include "compiler/target/accel/lower.h"
#include "compiler/target/accel/on_chip.h"
#include "compiler/target/accel/sketches/tile_model.h"
#include "isa/config.h"
#include "loops/ir.h"

namespace dovetail::accel {

// A scheduled program and where its buffers lie, by themselves (find_places).
struct PlacedProgram {
  PlacedProgram(const loops::Program& scheduled, Placements found);

  std::uint64_t number;  // of no other one
  loops::Program program;
  Placements placements;  // which refer to it
};

struct Memo {
  // One takes about 50 KiB, mostly instructions.
  static constexpr std::size_t kLowered = 1024;
  // By the text of the task and what was decided for it.
  std::shared_ptr<schedule::ScheduleMemo> schedules = std::make_shared<schedule::ScheduleMemo>();
  Recent<PlacedProgram> placed{4096};
  // By the number of the placed program, where its buffers lie on chip, and what lowering reads of the hardware.
  Recent<Lowered> lowered{kLowered};
  // Of operations with the smallest tile (on_chip_places), by their form and the sizes of blocks: the smallest tile is
  // the same whatever else the hardware has.
  Recent<std::vector<OnChip>> smallest{4096};

  static std::string key_of_smallest(const std::string& form, const isa::HardwareConfig& config);
};

}  // namespace dovetail::accel
