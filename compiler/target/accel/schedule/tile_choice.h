// The analytic choice of a tile and of slots, and the facts of the machine that it compares tiles by.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/memo.h"
#include "compiler/schedule/context.h"
#include "compiler/schedule/keyed_task.h"
#include "compiler/target/accel/schedule/operation_shape.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/schedule/tile_cost.h"
#include "compiler/target/accel/schedule/tile_model.h"
#include "isa/config.h"

namespace dovetail::accel {

class TileChoice : public OperationShape {
 public:
  TileChoice(schedule::Context& context, const Kind& kind, const isa::HardwareConfig& hardware, const TileCosts& costs,
             Memo& memo);

  schedule::Context& c;
  const isa::HardwareConfig& config;
  const MachineCosts costs;

  // `trips`: how many tiles there are along each axis. `elements`: of a buffer in a memory, per tile.
  using Elements = std::function<std::int64_t(const std::string& buffer, isa::Memory memory)>;
  using CountPace = std::function<Pace(const Tile& tile, const Tile& trips, const Elements& elements)>;
  // Decides tile_o, tile_c, tile_n, tile_y and tile_x, then slots_inp, slots_wgt and slots_acc. The analytic choice
  // fits the buffers and is through first. Whether there is one; else the schedule has the error.
  bool sample_tile(const CountPace& pace);
  Tile tile;  // decided
  // Elements of `buffer` in `memory` for the decided tile.
  std::int64_t elements(const std::string& buffer, isa::Memory memory) const;

  // Takes the steps that follow from what was decided, and gives slots to the copies of operands and to what is stored.
  void take_steps();

  // Transfers that bring or take a tile of what is stored as the results do, of an operand that is added or of the
  // results. Where whole rows of pixels follow each other, without a border, blocks of channels are the rows of one,
  // unless they are farther apart than the stride of a transfer holds.
  std::int64_t transfers_of(const std::string& parameter, const Tile& tile) const;
  // Cycles of loading the constants of a tile's channels, where they do not stay on chip.
  double constants_cycles(const Tile& tile) const;
  // Adds what bringing an operand takes.
  void add_operand(Pace& pace, const WidenedOperand& operand, const Tile& tile, const Elements& elements) const;
  // Cycles of the ALU's stages for each element of ACC.
  double stage_cycles() const;
  // The same where stages have results of several shapes: for each of these one of the stages, and the cycles of all.
  std::vector<std::pair<std::string, double>> stage_cycles_by_shape() const;

 private:
  double cycles_of_stage(const std::string& block) const;  // 0 of other blocks
  const schedule::KeyedTask& keyed();
  Result<const TileModel*> model();
  void sample_slots(const CountPace& pace);

  const Kind& kind_;
  Memo& memo_;
  const std::int64_t most_stride_;  // of a LOAD or STORE, in elements
  const bool constants_stay_;       // on chip, for the whole operation
  std::vector<Shape> constants_;    // [batch, channels, words] each
  std::int64_t changes_ = 0;        // between kinds of instructions of the compute queue, for a tile
  // Made when they are asked for.
  std::optional<schedule::KeyedTask> keyed_;
  std::optional<TileModel> model_;
  mutable std::optional<schedule::Footprint> footprint_;
  Slots slots_;
};

}  // namespace dovetail::accel
