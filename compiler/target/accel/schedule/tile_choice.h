// The analytic choice of a tile and of slots, and the facts of the machine by which tiles are compared.
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
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/schedule/operation_shape.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/schedule/tile_cost.h"
#include "compiler/target/accel/schedule/tile_model.h"

namespace dovetail::accel {

class TileChoice : public OperationShape {
 public:
  TileChoice(schedule::Context& context, const Kind& kind, const Core& hardware, const TileCosts& costs, Memo& memo);

  schedule::Context& c;
  const Core& config;
  const MachineCosts costs;

  // `trips`: number of tiles along each axis. `elements`: elements of a buffer in a memory, per tile.
  using Elements = std::function<std::int64_t(const std::string& buffer, isa::Memory memory)>;
  using CountPace = std::function<Pace(const Tile& tile, const Tile& trips, const Elements& elements)>;
  // Decides tile_o, tile_c, tile_n, tile_y and tile_x, then slots_inp, slots_wgt and slots_acc. The analytic choice
  // is the fastest that fits the buffers. False: no choice fits, and the schedule has the error.
  bool sample_tile(const CountPace& pace);
  Tile tile;  // decided
  // Elements of `buffer` in `memory` for the decided tile.
  std::int64_t elements(const std::string& buffer, isa::Memory memory) const;

  // Applies the steps that follow from the decisions, and gives slots to copies of operands and to stored results.
  void take_steps();

  // Cycles to load the weights of a tile from DRAM in `transfers` instructions.
  double weights_cycles(std::int64_t transfers, const Elements& elements) const;
  // The number of transfers for a tile of the results, or of an added operand in the same layout. If whole rows of
  // pixels are consecutive, without a border, blocks of channels are the rows of one transfer, unless they are farther
  // apart than the maximum stride of a transfer.
  std::int64_t transfers_of(const std::string& parameter, const Tile& tile) const;
  // Cycles to load the constants of a tile's channels, if they do not stay on chip.
  double constants_cycles(const Tile& tile) const;
  // Adds the cycles to load an operand.
  void add_operand(Pace& pace, const WidenedOperand& operand, const Tile& tile, const Elements& elements) const;
  // Cycles of the ALU's stages for each element of ACC.
  double stage_cycles() const;
  // The same for stages with results of several shapes: for each shape, one of its stages and the cycles of all of
  // them.
  std::vector<std::pair<std::string, double>> stage_cycles_by_shape() const;

 private:
  double cycles_of_stage(const std::string& block) const;  // 0 of other blocks
  const schedule::KeyedTask& keyed();
  Result<const TileModel*> model();
  void sample_slots(const CountPace& pace);

  const Kind& kind_;
  Memo& memo_;
  const std::int64_t most_stride_;  // maximum stride of a LOAD or STORE, in elements
  const bool constants_stay_;       // constants stay on chip for the whole operation
  std::vector<Shape> constants_;    // [batch, channels, words] each
  std::int64_t changes_ = 0;        // changes between kinds of instructions in the compute queue, per tile
  // Made on demand.
  std::optional<schedule::KeyedTask> keyed_;
  std::optional<TileModel> model_;
  mutable std::optional<schedule::Footprint> footprint_;
  Slots slots_;
};

}  // namespace dovetail::accel
