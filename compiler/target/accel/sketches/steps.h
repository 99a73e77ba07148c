// The steps that the accelerator's sketches share. Loops of extent 1 vanish in compute_at, so each step asks whether
// its loop is there.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/context.h"
#include "compiler/target/accel/layout.h"
#include "compiler/target/accel/sketches/sketches.h"
#include "compiler/target/accel/sketches/tile_model.h"
#include "isa/config.h"

namespace dovetail::accel {

// Extents of a tile: n in batch blocks, o and c in channel blocks (TensorLayout::block), y and x in output pixels.
struct Tile {
  std::int64_t o = 1, c = 1, n = 1, y = 1, x = 1;
};

class Steps {
 public:
  Steps(schedule::Context& context, const isa::HardwareConfig& hardware, TileModels& models);

  schedule::Context& c;
  const isa::HardwareConfig& config;
  const TensorLayout layout;              // of all activations, but for extents and borders
  const std::vector<std::string> blocks;  // of the operator's program

  // ---- The tile

  struct Traffic {
    double bytes = 0, transfers = 0;  // from and to DRAM; LOAD and STORE instructions, about
    double cost() const;              // in bytes: a transfer costs its start-up besides
  };
  // `trips`: how many tiles there are along each axis. `elements`: of a buffer in a memory, per tile.
  using Elements = std::function<std::int64_t(const std::string& buffer, isa::Memory memory)>;
  using CountTraffic = std::function<Traffic(const Tile& tile, const Tile& trips, const Elements& elements)>;
  // Decides tile_o, tile_c, tile_n, tile_y and tile_x; `channels`: the loop of the reduction over channels, or "". The
  // analytic choice fits the buffers and moves least. Whether there is one; else the schedule has the error.
  bool sample_tile(const Kind& kind, const std::string& channels, const CountTraffic& traffic);
  // Convolutions: block groups (block_groups.h). A tile lies in one, or covers whole ones.
  std::int64_t groups = 1;
  std::int64_t group_blocks() const { return whole.o / groups; }
  Tile tile, whole;
  Tile trips() const { return trips_of(tile); }
  // Of that tile.
  std::int64_t elements(const std::string& buffer, isa::Memory memory) const;
  // Tiles the block "out" into loops out.{o,n,y,x}_t around out.{n,o,y,x}_i; with `channels_innermost`
  // out.{n,y,x,o}_t. Outside of all, out.g_t over groups of several tiles.
  void tile_output(bool channels_innermost = false);

  // ---- Loops, elements and places

  // ALU stages, constants and widening loads: on chip, computed per tile; constants once per channel tile.
  void place_stages();
  // Splits a channel loop into groups of a layout block, elements of `element` channels and the channels of an element.
  void split_channels(const std::string& loop, std::int64_t block, std::int64_t element);
  void split_batch(const std::string& loop);
  // The innermost loops of `block` over batch `n` and channels `o` become one ACC element.
  void block_elements(const std::string& block, const std::string& n, const std::string& o);
  // Where the operand `parameter` is widened by GEMM, in block "<prefix>widen": it goes through INP, the identity lies
  // in WGT throughout. Nothing where LOAD widens it.
  void widen(const std::string& prefix, const std::string& parameter);
  // Elements and layouts of everything but block `main`.
  void finish_stages(const std::string& main);
  // Replaces the nest of `block` at the outermost of these loops that is there by an intrinsic.
  void tensorize(const std::string& block, const std::vector<std::string>& element_loops);
  void tensorize_stages(const std::string& main);

 private:
  Tile trips_of(const Tile& tile) const;

  TileModels& models_;
  std::string channels_;        // loop of the reduction over channels
  std::string innermost_tile_;  // loop
};

}  // namespace dovetail::accel
