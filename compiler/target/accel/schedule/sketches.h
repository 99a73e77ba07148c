// The accelerator's sketches: they tile operations to the SRAMs, map loops to elements, and place stages, constants and
// operands. Tiles are counted in blocks of the layout (TensorLayout); the analytic choice is the tile with the fewest
// cycles as estimated by tile_cost.h.
#pragma once

#include <memory>
#include <string_view>

#include "base/memo.h"
#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/schedule/tile_cost.h"
#include "loops/ir.h"

namespace dovetail::accel {

class Steps;
class TileChoice;

// A kind of operation: the programs of programs.h, by name.
struct Kind {
  std::string_view name;
  int version;  // version of the sketch (compiler/schedule/sketch.h)
  // Decides a tile, and the other facts on which the steps depend. False: the choice's schedule has the error.
  bool (*decide)(TileChoice& choice);
  // Applies the steps, which depend on the task and the decisions.
  void (*write)(Steps& steps);
};
extern const Kind kConvolution, kWindow, kAddition, kMaxPooling, kLines, kMove, kMatMul, kTable, kSoftmax,
    kNormalization;
// Precondition: the name is known.
const Kind& kind_named(std::string_view name);

schedule::Task make_task(const Kind& kind, loops::Program program, const Core& config,
                         std::shared_ptr<const loops::IntrinsicTable> intrinsics, schedule::Intent intent = {});

// A memo for the schedules, places and instructions of a single compilation, in which few layers are equal.
std::shared_ptr<Memo> make_small_memo();

// `memo`: shared with other hardware; null: a small memo of this sketch. The schedules do not depend on it.
schedule::Sketch sketch_of(const Kind& kind, const Core& config, std::shared_ptr<Memo> memo = nullptr,
                           const TileCosts& costs = {});

// Error: the smallest tile of an operation's program does not fit the buffers, so that no tile fits. It names the
// buffer that is too small, with both numbers, and the remedy. `memo`: as for sketch_of().
Result<void> smallest_tile_fits(const Kind& kind, const loops::Program& program, const Core& config,
                                std::shared_ptr<Memo> memo = nullptr);

// The most tiles of an operation, which takes seconds to lower.
inline constexpr std::int64_t kMostTiles = std::int64_t{1} << 16;
// Error: the tile that the sketch chooses is so small that there are more. It has both numbers, and the remedy. `memo`:
// as for sketch_of(). Precondition: smallest_tile_fits().
Result<void> tiles_are_few(const Kind& kind, const loops::Program& program, const Core& config,
                           std::shared_ptr<Memo> memo = nullptr);

// Estimated cycles of an operation's program alone, with the tile that the sketch chooses. Errors: no tile fits.
// `memo`: as for sketch_of().
Result<double> expected_cycles(const Kind& kind, const loops::Program& program, const Core& config,
                               std::shared_ptr<Memo> memo = nullptr);

}  // namespace dovetail::accel
