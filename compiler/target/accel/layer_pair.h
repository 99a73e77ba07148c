// Neighboring layers that share the SRAMs, so that tiles of one can come between tiles of the other.
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
#include "compiler/target/accel/schedule/sketches.h"

namespace dovetail::accel {

// A program of a region, with its places on chip.
struct Layer {
  const Kind* kind;
  schedule::Task task;
  loops::Program program;  // scheduled
  Placements placements;   // of it
  std::shared_ptr<const Lowered> lowered;
  std::map<std::string, std::uint64_t> dram;  // physical byte address of each parameter
  int node;
};

struct LayerPair {
  Layer first, second;             // with other tiles and places than they came with
  std::vector<std::size_t> order;  // of their instructions, the second layer's after the first's
};

// Both layers interleaved, the first with tiles for three quarters or half of each SRAM, the second for what those
// leave. nullopt where memory is not what one of them waits for while the other one computes, or that gains too little
// as estimated. Precondition: their tiles are the analytic choice.
std::optional<LayerPair> side_by_side(const Layer& first, const Layer& second, const isa::HardwareConfig& config,
                                      const std::shared_ptr<Memo>& memo);

}  // namespace dovetail::accel
