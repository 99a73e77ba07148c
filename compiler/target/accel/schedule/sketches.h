// The accelerator's sketches: how its operations are tiled to the SRAMs, which loops become elements, and where stages,
// constants and operands are stored. Tiles are decided in blocks of the layout (TensorLayout); the analytic choice
// takes the fewest cycles as tile_cost.h expects them.
#pragma once

#include <memory>
#include <string_view>

#include "base/memo.h"
#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "compiler/target/accel/schedule/tile_cost.h"
#include "isa/config.h"
#include "loops/ir.h"

namespace dovetail::accel {

class Steps;
class TileChoice;

// A kind of operation: the programs of programs.h, by name.
struct Kind {
  std::string_view name;
  int version;  // of the sketch (compiler/schedule/sketch.h)
  // Decides a tile, and what else the steps depend on. False: the choice's schedule has the error.
  bool (*decide)(TileChoice& choice);
  // Takes the steps, which follow from the task and what was decided.
  void (*write)(Steps& steps);
};
extern const Kind kConvolution, kAddition, kMaxPooling, kLines, kMove, kMatMul;
// Precondition: there is one.
const Kind& kind_named(std::string_view name);

schedule::Task make_task(const Kind& kind, loops::Program program, const isa::HardwareConfig& config,
                         std::shared_ptr<const loops::IntrinsicTable> intrinsics, schedule::Intent intent = {});

// What is kept of the schedules, places and instructions of one compilation alone: few of its layers are equal.
std::shared_ptr<Memo> make_small_memo();

// `memo`: what this and other hardware shares; null: a small one of the sketch alone. The schedules are the same.
schedule::Sketch sketch_of(const Kind& kind, const isa::HardwareConfig& config, std::shared_ptr<Memo> memo = nullptr,
                           const TileCosts& costs = {});

// Whether the smallest tile of an operation's program fits the buffers: no tile does otherwise. Errors: names the
// buffer that is short of space, with both numbers, and the remedy. `memo`: as for sketch_of().
Result<void> smallest_tile_fits(const Kind& kind, const loops::Program& program, const isa::HardwareConfig& config,
                                std::shared_ptr<Memo> memo = nullptr);

// Cycles of an operation's program by itself, as the sketch expects them of the tile that it chooses. Errors: no tile
// fits. `memo`: as for sketch_of().
Result<double> expected_cycles(const Kind& kind, const loops::Program& program, const isa::HardwareConfig& config,
                               std::shared_ptr<Memo> memo = nullptr);

}  // namespace dovetail::accel
