// Builds the instruction stream of a region. Each layer is held back until the next one is known, since the two may be
// interleaved (layer_pair.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/memo.h"
#include "compiler/target/accel/layer_pair.h"
#include "compiler/target/accel/lower/lower.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/stream/stream.h"
#include "compiler/target/target.h"

namespace dovetail::accel {

class LayerQueue {
 public:
  // `dump`: gets the on-chip places of each layer; may be null.
  LayerQueue(const Core& config, std::shared_ptr<Memo> memo, const Dump& dump);

  // `analytic`: its tiles are the analytic choice, so that interleaving may choose other tiles.
  void add(Layer layer, bool analytic);
  // Adds the layer that is held back.
  void finish();

  // The history of the SRAMs after all layers so far.
  SramHistory history() const;
  Stream& stream() { return stream_; }
  // Pairs of operations that are interleaved.
  const std::vector<std::array<std::size_t, 2>>& side_by_side() const { return side_by_side_; }

 private:
  void append(const Layer& layer);

  const Core& config_;
  const LoweringFacts facts_;
  const std::shared_ptr<Memo> memo_;
  const Dump& dump_;
  std::optional<Layer> held_back_;
  SramHistory history_;  // after the stream so far
  Stream stream_;
  std::vector<std::array<std::size_t, 2>> side_by_side_;
};

}  // namespace dovetail::accel
