#include "compiler/target/accel/layer_pair.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/stream/interleave.h"
#include "compiler/target/accel/stream/order_loads.h"

namespace dovetail::accel {

namespace {

// The least estimated gain: a number of cycles, and a share of the cycles of both layers. With less gain, layers are
// faster apart, since they leave more room to the next layers.
constexpr std::uint64_t kLeastCycles = 1000, kLeastPart = 100;

struct SramBuffer {
  isa::Memory memory;
  std::int64_t isa::HardwareConfig::*bytes;
};
constexpr std::array kBuffers{SramBuffer{isa::Memory::inp, &isa::HardwareConfig::inp_buffer_bytes},
                              SramBuffer{isa::Memory::wgt, &isa::HardwareConfig::wgt_buffer_bytes},
                              SramBuffer{isa::Memory::acc, &isa::HardwareConfig::acc_buffer_bytes}};

// A range of each SRAM: elements [begin, begin + size), by kBuffers.
struct Room {
  struct Elements {
    std::int64_t begin, size;
  };
  std::array<Elements, kBuffers.size()> of;
};

// The room above the buffers that are placed from the bottom.
Room room_above(const Placements& placements, const Core& config) {
  Room room;
  for (std::size_t b = 0; b < kBuffers.size(); ++b) {
    std::int64_t end = 0;
    for (const auto& [buffer, placement] : placements)
      if (placement.memory == kBuffers[b].memory) end = std::max(end, placement.base + placement.all_elements());
    room.of[b] = {end, config.depth(kBuffers[b].memory) - end};
  }
  return room;
}

// The layer with the best schedule for hardware with only that room; nullopt if no tile fits.
std::optional<Layer> fit(const Layer& layer, const schedule::Task& task, const Room& room, const Core& config,
                         const std::shared_ptr<Memo>& memo) {
  Core small = config;
  for (std::size_t b = 0; b < kBuffers.size(); ++b) {
    if (room.of[b].size == 0) return std::nullopt;
    std::int64_t& bytes = small.*kBuffers[b].bytes;
    bytes = bytes / config.depth(kBuffers[b].memory) * room.of[b].size;
  }
  auto scheduled = schedule::run(sketch_of(*layer.kind, small, memo), task);
  if (!scheduled.ok()) return std::nullopt;
  Layer made = layer;
  made.program = std::move(scheduled->program);
  const auto placements =
      place_buffers(made.program, *find_places(made.program, *task.intrinsics, small), small, SramHistory());
  if (!placements.ok()) return std::nullopt;
  made.placements = *placements;
  for (auto& [buffer, placement] : made.placements)
    for (std::size_t b = 0; b < kBuffers.size(); ++b)
      if (placement.memory == kBuffers[b].memory) placement.base += room.of[b].begin;
  // Not stored in the memo: few of them become part of a region.
  auto lowered = lower(made.program, *task.intrinsics, LoweringFacts(config), made.placements);
  if (!lowered.ok()) return std::nullopt;
  made.lowered = std::make_shared<const Lowered>(*std::move(lowered));
  return made;
}

Stream stream_of(const Layer& first, const Layer& second, const Core& config) {
  Stream stream;
  SramHistory history;
  for (const Layer* layer : {&first, &second})
    append(*layer->lowered, layer->program, LoweringFacts(config), layer->dram, layer->node, history, stream);
  return stream;
}

}  // namespace

std::optional<LayerPair> side_by_side(const Layer& first, const Layer& second, const Core& config,
                                      const std::shared_ptr<Memo>& memo) {
  const auto [apart, together] = least_cycles(first.lowered->stream, second.lowered->stream, config);
  const std::uint64_t gain = kLeastCycles + apart / kLeastPart;
  if (apart - together < 2 * gain) return std::nullopt;  // usually at most half of the estimate is gained
  Stream sequence = stream_of(first, second, config);
  order_loads(sequence, config);
  const std::uint64_t in_sequence = estimated_cycles(sequence, config);

  schedule::Task by_pixels = first.task;
  by_pixels.intent.order = schedule::TileOrder::pixels_first;
  for (const std::int64_t quarters : {3, 2}) {
    Room room;
    for (std::size_t b = 0; b < kBuffers.size(); ++b) room.of[b] = {0, config.depth(kBuffers[b].memory) * quarters / 4};
    std::optional<Layer> above = fit(first, by_pixels, room, config, memo);
    if (!above) continue;
    std::optional<Layer> below = fit(second, second.task, room_above(above->placements, config), config, memo);
    if (!below) continue;
    Interleaved interleaved =
        interleave(stream_of(*above, *below, config), above->lowered->stream.instructions.size(), config);
    if (interleaved.cycles + gain <= in_sequence)
      return LayerPair{*std::move(above), *std::move(below), std::move(interleaved.order)};
  }
  return std::nullopt;
}

}  // namespace dovetail::accel
