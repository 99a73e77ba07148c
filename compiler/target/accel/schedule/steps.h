// The steps that the accelerator's sketches share. compute_at removes loops of extent 1, so each step checks whether
// its loop exists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/context.h"
#include "compiler/target/accel/schedule/operation_shape.h"
#include "compiler/target/accel/schedule/written_steps.h"

namespace dovetail::accel {

class Steps : public OperationShape {
 public:
  // `decided`: everything that the steps depend on. `context`: the context of its task.
  Steps(schedule::Context& context, const WrittenSteps& decided);

  schedule::Context& c;
  const Tile tile;
  // The value of a decision that the sketch made in addition to the tile; "" where the sketch did not make it.
  std::string decided(const std::string& name) const;
  // Gives slots to copies of operands. `weights`: "" without weights.
  void take_slots(std::vector<std::string> inputs, std::vector<std::string> weights);
  std::vector<std::string> slotted_inputs, slotted_weights;

  // Tiles the block "out" into loops out.{o,n,y,x}_t, in the order of `axes`, around out.{n,o,y,x}_i. The outermost
  // loop is out.g_t, over groups of several tiles.
  void tile_output(const std::vector<std::string>& axes);
  void tile_output();  // in the task's order (schedule::TileOrder)

  // ---- Loops, elements and places

  // ALU stages, constants and widening loads: on chip, computed per tile; constants once per channel tile.
  void place_stages();
  // Splits a channel loop into groups of a layout block, elements of `element` channels and the channels of an element.
  void split_channels(const std::string& loop, std::int64_t block, std::int64_t element);
  void split_batch(const std::string& loop);
  // The index map of a block's result in ACC: blocks of the layout, or the single element of channels that numbers of
  // rows have.
  std::string elements_of(const std::string& block) const;
  // Layouts of a product's copies: `image` of X in INP, and W.wgt of W, which has `dimensions`, in WGT.
  void lay_out_product(const std::string& image, std::size_t dimensions);
  // The innermost loops of `block` over batch `n` and channels `o` become one ACC element.
  void block_elements(const std::string& block, const std::string& n, const std::string& o);
  // The parts of widen(), for a block that reads a copy in INP that the program already has: splits its loops; copies a
  // parameter, with these loops over channels and images; and turns the block into products with the identity in WGT.
  void split_widening(const std::string& block);
  void lay_out_in_inp(const std::string& parameter, const std::string& copy, const std::string& channels,
                      const std::string& images);
  void tensorize_widening(const std::string& block);
  // If GEMM widens the operand, in block "<prefix>widen", copies it to INP and keeps the identity in WGT. No effect if
  // LOAD widens it.
  void widen(const WidenedOperand& operand);
  // Schedules a product of matrices, whose sums run over channels `c` and `part`.
  void make_product(const std::string& block);
  void tensorize_product(const std::string& block);
  // Elements and layouts of everything but block `main`.
  void finish_stages(const std::string& main);
  // Replaces the nest of `block` by an intrinsic, at the outermost of these loops that exists.
  void tensorize(const std::string& block, const std::vector<std::string>& element_loops);
  void tensorize_stages(const std::string& main);

 private:
  const WrittenSteps& decided_;
  std::string innermost_tile_;  // loop
};

}  // namespace dovetail::accel
