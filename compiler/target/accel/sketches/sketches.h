// The accelerator's sketches: how its operations are tiled to the SRAMs, which loops become elements, and where stages,
// constants and operands lie. Tiles are decided in blocks of the layout (TensorLayout); the analytic choice moves the
// fewest bytes, with a price per transfer.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "compiler/schedule/context.h"
#include "compiler/schedule/sketch.h"
#include "isa/config.h"
#include "loops/ir.h"

namespace dovetail::accel {

// A kind of operation: the programs of programs.h, by name.
class TileModels;
struct Memo;
struct Kind {
  std::string_view name;
  int version;  // of the sketch (compiler/schedule/sketch.h)
  void (*write)(schedule::Context& context, const isa::HardwareConfig& config, TileModels& models);
};
extern const Kind kConvolution, kAddition, kMaxPooling, kLines, kMove, kMatMul;

// Whether what is computed in the region before a task takes as long as loading the task's weights, which then come
// meanwhile. Only the analytic choice asks.
enum class Start { behind_others, alone };

schedule::Task make_task(const Kind& kind, loops::Program program, const isa::HardwareConfig& config,
                         std::shared_ptr<const loops::IntrinsicTable> intrinsics, Start start = Start::behind_others);
Start start_of(const schedule::Task& task);
// Where tiles go over channels first for no reason of the operation's own, over pixels first: another operation reads
// all channels of the first rows while this one computes the next.
void go_over_pixels_first(schedule::Task& task);

// `memo`: what other hardware left (memo.h); null: nothing.
std::shared_ptr<TileModels> make_tile_models(const std::shared_ptr<Memo>& memo = nullptr);
// `models`: what is known of tasks on this hardware, of all sketches that share it; null: of this sketch alone.
schedule::Sketch sketch_of(const Kind& kind, const isa::HardwareConfig& config,
                           std::shared_ptr<TileModels> models = nullptr);

// Whether the smallest tile of an operation's program fits the buffers: no tile does otherwise. Errors: names the
// buffer that is short of space, with both numbers, and the remedy. `models`: as for sketch_of().
Result<void> smallest_tile_fits(const Kind& kind, const loops::Program& program, const isa::HardwareConfig& config,
                                std::shared_ptr<TileModels> models = nullptr);

// Cycles of an operation's program by itself, as the sketch expects them of the tile that it chooses. Errors: no tile
// fits. `models`: as for sketch_of().
Result<double> expected_cycles(const Kind& kind, const loops::Program& program, const isa::HardwareConfig& config,
                               std::shared_ptr<TileModels> models = nullptr);

}  // namespace dovetail::accel
