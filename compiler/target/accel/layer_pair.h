// Neighboring layers that share the SRAMs, so that their tiles can be interleaved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/memo.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/accel/lower/lower.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/schedule/sketches.h"

namespace dovetail::accel {

// A program of a region, with the on-chip places of its buffers.
struct Layer {
  const Kind* kind;
  schedule::Task task;
  loops::Program program;  // scheduled
  Placements placements;   // places of its buffers
  std::shared_ptr<const Lowered> lowered;
  DramPlaces dram;
  int node;
};

struct LayerPair {
  Layer first, second;             // with new tiles and places
  std::vector<std::size_t> order;  // order of their instructions, which are numbered through both layers
};

// Interleaves both layers: the first with tiles for three quarters or half of each SRAM, the second with tiles for the
// rest. nullopt unless one layer waits for memory while the other one computes, and the estimated gain is large enough.
// Precondition: their tiles are the analytic choice.
std::optional<LayerPair> side_by_side(const Layer& first, const Layer& second, const Core& config,
                                      const std::shared_ptr<Memo>& memo);

}  // namespace dovetail::accel
