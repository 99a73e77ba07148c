// The steps that the accelerator's sketches share. Loops of extent 1 vanish in compute_at, so each step asks whether
// its loop is there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  std::int64_t results() const { return o * n * y * x; }
};

class Steps {
 public:
  Steps(schedule::Context& context, const isa::HardwareConfig& hardware, TileModels& models);

  schedule::Context& c;
  const isa::HardwareConfig& config;
  const TensorLayout layout;                    // of all activations, but for extents and borders
  const std::vector<std::string> blocks;        // of the operator's program
  const std::vector<std::string> convolutions;  // of these: products that share their tiles of channels

  // ---- The tile

  // Loads of an operand: the cycles of one, and how many there are in the operation.
  struct Loads {
    double cycles = 0;
    std::int64_t times = 0;
  };
  // What a tile costs, in cycles of each queue while nothing holds it up.
  struct Pace {
    Loads inputs, weights;
    double compute = 0;     // for a tile of the reduction over channels
    double first_load = 0;  // what must be there before anything is computed
    double finish = 0;      // of the compute queue when a sum is complete: its epilogue, loads of ACC
    double added = 0;       // loads of operands that are widened, which have slots as inputs have
    double added_turn = 0;  // these, one after the other, and what uses them
    double store = 0;
  };
  // `trips`: how many tiles there are along each axis. `elements`: of a buffer in a memory, per tile.
  using Elements = std::function<std::int64_t(const std::string& buffer, isa::Memory memory)>;
  using CountPace = std::function<Pace(const Tile& tile, const Tile& trips, const Elements& elements)>;
  // Decides tile_o, tile_c, tile_n, tile_y and tile_x, then slots_inp, slots_wgt and slots_acc. The analytic choice
  // fits the buffers and is through first. Whether there is one; else the schedule has the error.
  bool sample_tile(const Kind& kind, const CountPace& pace);
  // Takes the steps of `write`, which follow from the tile, the order of tiles, the sizes of blocks, and nothing else
  // of `config`; slots come after them. Where the task's memo knows what they make, that is taken
  // (schedule::Context::recall).
  void recall(const std::function<void()>& write);
  // Gives slots to the copies of operands, and to what is stored. At the end of the sketch.
  void take_slots(const Kind& kind, const std::vector<std::string>& inputs, const std::string& weights);

  // Cycles of a transfer between DRAM and a memory, `bytes` in `transfers` instructions of a queue that other
  // instructions are ahead in; of one that nothing overlaps with.
  double streamed(double bytes, std::int64_t transfers) const;
  double exposed(double bytes, std::int64_t transfers) const;
  // Of stores: one at a time, to its last response, and a cycle between bursts (timing.md).
  double stored(double bytes, std::int64_t transfers) const;
  // Transfers that bring or take a tile of what lies as the results do, of an operand that is added or of the results.
  // Where whole rows of pixels follow each other, without a border, blocks of channels are the rows of one, unless they
  // lie farther apart than the stride of a transfer holds.
  std::int64_t transfers_of(const std::string& parameter, const Tile& tile) const;
  // Cycles of loading the constants of a tile's channels, where they do not stay on chip.
  double constants_cycles(const Tile& tile) const;
  // An int8 operand that is made int32 in ACC.
  struct Operand {
    std::string prefix, parameter;
    bool by_gemm;                                            // else by LOAD, in the compute queue
    std::string copy() const { return parameter + ".inp"; }  // in INP
  };
  Operand operand(const std::string& prefix, const std::string& parameter) const;
  // Adds what bringing it takes.
  void add_operand(Pace& pace, const Operand& operand, const Tile& tile, const Elements& elements) const;
  // Cycles of the ALU's stages for each element of ACC.
  double stage_cycles() const;
  // The same where stages have results of several shapes: for each of these one of the stages, and the cycles of all.
  std::vector<std::pair<std::string, double>> stage_cycles_by_shape() const;

  // Convolutions: block groups (block_groups.h). A tile lies in one, or covers whole ones.
  std::int64_t groups = 1;
  std::int64_t group_blocks() const { return whole.o / groups; }
  Tile tile, whole;
  Tile trips() const { return trips_of(tile); }
  // Of that tile.
  std::int64_t elements(const std::string& buffer, isa::Memory memory) const;
  // Tiles the block "out" into loops out.{o,n,y,x}_t, in the order of `axes`, around out.{n,o,y,x}_i. Outside of all,
  // out.g_t over groups of several tiles.
  void tile_output(const std::vector<std::string>& axes);
  void tile_output();  // in the order that the task asks for (go_over_pixels_first)

  // ---- Loops, elements and places

  // ALU stages, constants and widening loads: on chip, computed per tile; constants once per channel tile.
  void place_stages();
  // Splits a channel loop into groups of a layout block, elements of `element` channels and the channels of an element.
  void split_channels(const std::string& loop, std::int64_t block, std::int64_t element);
  void split_batch(const std::string& loop);
  // The innermost loops of `block` over batch `n` and channels `o` become one ACC element.
  void block_elements(const std::string& block, const std::string& n, const std::string& o);
  // The parts of widen(), for a block that reads a copy in INP which the program has: its loops; a parameter and its
  // copy, whose loops over channels and images are these; and the block as products, the identity in WGT.
  void split_widening(const std::string& block);
  void lay_out_in_inp(const std::string& parameter, const std::string& copy, const std::string& channels,
                      const std::string& images);
  void tensorize_widening(const std::string& block);
  // Where an operand is widened by GEMM, in block "<prefix>widen", it goes through INP, the identity lies in WGT
  // throughout. Nothing where LOAD widens it.
  void widen(const Operand& operand);
  // Elements and layouts of everything but block `main`.
  void finish_stages(const std::string& main);
  // Replaces the nest of `block` at the outermost of these loops that is there by an intrinsic.
  void tensorize(const std::string& block, const std::vector<std::string>& element_loops);
  void tensorize_stages(const std::string& main);

 private:
  Tile trips_of(const Tile& tile) const;
  double cycles_of_stage(const std::string& block) const;  // 0 of other blocks
  Result<std::shared_ptr<const TileModel>> model_of(const Kind& kind);
  void sample_slots(const Kind& kind, const CountPace& pace);
  double total(const Pace& pace, const Tile& trips, const Slots& slots) const;

  TileModels& models_;
  const std::int64_t most_stride_;  // of a LOAD or STORE, in elements
  const bool constants_stay_;       // on chip, for the whole operation
  std::vector<Shape> constants_;    // [batch, channels, words] each
  std::int64_t changes_ = 0;        // between kinds of instructions of the compute queue, for a tile
  mutable std::optional<schedule::Footprint> footprint_;
  Slots slots_;
  std::string innermost_tile_;  // loop
};

}  // namespace dovetail::accel
