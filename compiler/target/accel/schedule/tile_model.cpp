#include "compiler/target/accel/schedule/tile_model.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/accel/programs/intrinsics.h"

namespace dovetail::accel {

namespace {

// The buffer of which `cached`, made by the schedule, is a copy.
std::string origin(const loops::Program& program, const std::string& cached) {
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    if (const loops::Block& block = *schedule::as_block(path.back());
        block.writes.front().buffer->name == cached && block.reads.size() == 1)
      return block.reads.front().buffer->name;
  throw InternalError(cached + " is a copy of one buffer");
}

// The shape of a buffer of the operator's program.
const Shape& shape_of(const loops::Program& program, std::string_view name) {
  for (const loops::Parameter& parameter : program.parameters)
    if (parameter.buffer->name == name) return parameter.buffer->shape;
  const auto buffer = std::ranges::find(program.allocations, name, [](const loops::Buffer& b) { return b->name; });
  DOVETAIL_CHECK(buffer != program.allocations.end(), fmt::format("{} is a buffer of {}", name, program.name));
  return (*buffer)->shape;
}

}  // namespace

schedule::Footprint footprint_of(const loops::Program& program) {
  std::vector<std::string> channels = convolutions_of(program);
  for (std::string& loop : channels) loop += ".c";
  return schedule::Footprint(program, {std::string(kChannelsOfSums), std::move(channels)});
}

bool constants_stay(const loops::Program& program, const Core& config) {
  constexpr std::int64_t kLeastShare = 8;  // parts of ACC
  std::int64_t numbers = 0;
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    if (const loops::Block& block = *schedule::as_block(path.back()); is_constants(block.name))
      numbers += element_count(block.writes.front().buffer->shape);
  return numbers * kLeastShare <= config.depth(isa::Memory::acc) * element_size(isa::Memory::acc, config);
}

std::int64_t element_size(isa::Memory memory, const BlockSizes& sizes) {
  if (memory == isa::Memory::inp) return sizes.batch * sizes.block_in;
  if (memory == isa::Memory::wgt) return sizes.block_out * sizes.block_in;
  return sizes.batch * sizes.block_out;
}

std::vector<OnChip> on_chip_places(const loops::Program& program, const loops::Program& scheduled,
                                   const Placements& found) {
  std::set<std::string> read;  // buffers of the operator's program that are read
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    for (const loops::Region& region : schedule::as_block(path.back())->reads) read.insert(region.buffer->name);
  const loops::BufferNode* stored = nullptr;
  for (const schedule::Path& path : schedule::blocks_below(scheduled.body))
    if (const loops::Block& block = *schedule::as_block(path.back()); block.name == "out")
      stored = block.reads.front().buffer.get();
  if (const Placement& placement = found.at(stored); placement.in_place_of) stored = placement.in_place_of;
  std::vector<OnChip> places;
  for (const auto& [buffer, placement] : found) {
    if (placement.in_place_of || placement.memory == isa::Memory::tab) continue;
    const std::string name = read.contains(buffer->name) ? buffer->name : origin(scheduled, buffer->name);
    places.push_back({name, placement.memory,
                      placement.memory == isa::Memory::acc ? buffer == stored : !is_identity(name),
                      is_constants(name)});
  }
  std::ranges::sort(places);
  return places;
}

LoopExtents::LoopExtents(const schedule::Footprint& footprint, const TensorLayout& layout)
    : layout_(layout), extents_(footprint.whole()) {
  for (const auto& [at, loop] : {std::pair(&n_, "out.n"), std::pair(&o_, "out.o"), std::pair(&y_, "out.y"),
                                 std::pair(&x_, "out.x"), std::pair(&c_, kChannelsOfSums)})
    *at = footprint.find(loop);
}

std::span<const std::int64_t> LoopExtents::of(const Tile& tile) {
  const auto set = [&](const std::optional<std::size_t>& at, std::int64_t extent) {
    if (at) extents_[*at] = extent;
  };
  set(n_, tile.n * layout_.batch), set(o_, tile.o * layout_.block), set(c_, tile.c * layout_.block);
  set(y_, tile.y), set(x_, tile.x);
  return extents_;
}

TileModel::TileModel(const loops::Program& program, std::span<const OnChip> places, const Core& config)
    : footprint_(footprint_of(program)), config_(config) {
  for (const OnChip& place : places) {
    const auto* box = footprint_.box(place.buffer);
    DOVETAIL_CHECK(box, place.buffer + " is read");
    Term term{place.memory, *box, shape_of(program, place.buffer), place.has_slots};
    if (place.constants && constants_stay(program, config))
      for (std::size_t d = 0; d < term.box.size(); ++d) term.box[d] = {term.shape[d], {}};
    const auto same = std::ranges::find_if(terms_, [&](const Term& other) {
      return other.memory == term.memory && other.box == term.box && other.shape == term.shape &&
             other.has_slots == term.has_slots;
    });
    if (same == terms_.end()) terms_.push_back(term);
    else ++same->buffers;
    if (place.has_slots && place.memory == isa::Memory::acc) stored_ = place.buffer;
  }
}

std::int64_t TileModel::values_of(const Term& term, std::span<const std::int64_t> tile) const {
  const std::array whole{term.memory == isa::Memory::wgt ? config_.block_out : config_.batch,
                         term.memory == isa::Memory::acc ? config_.block_out : config_.block_in};
  std::int64_t values = term.buffers;
  for (std::size_t d = 0; d < term.box.size(); ++d) {
    const std::int64_t extent = std::min(term.box[d].at(tile), term.shape[d]);
    values *= d < whole.size() ? round_up(extent, whole[d]) : extent;
  }
  return values;
}

std::int64_t TileModel::needs(isa::Memory memory, std::span<const std::int64_t> tile, const Slots& slots) const {
  std::int64_t elements = 0;
  for (const Term& term : terms_)
    if (term.memory == memory) elements += values_of(term, tile) * (term.has_slots ? slots.of(memory) : 1);
  return elements / element_size(memory, config_);
}

std::optional<Slots> TileModel::slots_that_fit(std::span<const std::int64_t> tile, std::int64_t most) const {
  Slots slots;
  for (const auto& [memory, count] : {std::pair(isa::Memory::inp, &slots.inp), std::pair(isa::Memory::wgt, &slots.wgt),
                                      std::pair(isa::Memory::acc, &slots.acc)}) {
    std::int64_t resident = 0, in_slots = 0;
    for (const Term& term : terms_)
      if (term.memory == memory) (term.has_slots ? in_slots : resident) += values_of(term, tile);
    const std::int64_t room = usable_depth(config_, memory) * element_size(memory, config_) - resident;
    if (room < in_slots) return std::nullopt;
    *count = in_slots == 0 ? most : std::min(most, room / in_slots);
  }
  return slots;
}

bool TileModel::fits(std::span<const std::int64_t> tile, const Slots& slots) const {
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
    if (needs(memory, tile, slots) > usable_depth(config_, memory)) return false;
  return true;
}

std::int64_t TileModel::elements(const std::string& buffer, isa::Memory memory,
                                 std::span<const std::int64_t> tile) const {
  return footprint_.elements(buffer, tile) / element_size(memory, config_);
}

}  // namespace dovetail::accel
