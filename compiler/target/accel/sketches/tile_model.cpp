#include "compiler/target/accel/sketches/tile_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/accel/memo.h"
#include "compiler/target/accel/on_chip.h"

namespace dovetail::accel {

namespace {

// The buffer that `cached`, which the schedule made, is a copy of.
std::string origin(const loops::Program& program, const std::string& cached) {
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    if (const loops::Block& block = *schedule::as_block(path.back());
        block.writes.front().buffer->name == cached && block.reads.size() == 1)
      return block.reads.front().buffer->name;
  throw InternalError(cached + " is a copy of one buffer");
}

// Equal for programs of the same blocks and buffers.
std::string form_of(const schedule::Task& task) {
  std::string text = task.kind;
  for (const schedule::Path& path : schedule::blocks_below(task.program.body))
    text += " " + schedule::as_block(path.back())->name;
  for (const loops::Parameter& parameter : task.program.parameters) text += " " + parameter.buffer->name;
  for (const loops::Buffer& buffer : task.program.allocations) text += " " + buffer->name;
  return text;
}

// Of a buffer of the operator's program.
const Shape& shape_of(const loops::Program& program, std::string_view name) {
  for (const loops::Parameter& parameter : program.parameters)
    if (parameter.buffer->name == name) return parameter.buffer->shape;
  const auto buffer = std::ranges::find(program.allocations, name, [](const loops::Buffer& b) { return b->name; });
  DOVETAIL_CHECK(buffer != program.allocations.end(), fmt::format("{} is a buffer of {}", name, program.name));
  return (*buffer)->shape;
}

}  // namespace

bool is_constants(std::string_view block) { return block.ends_with("constants"); }

bool is_identity(std::string_view buffer) { return buffer.starts_with("I"); }

bool is_convolution(std::string_view block) { return block.ends_with("conv"); }

std::vector<std::string> convolutions_of(const loops::Program& program) {
  std::vector<std::string> blocks;
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    if (const std::string& block = schedule::as_block(path.back())->name; is_convolution(block))
      blocks.push_back(block);
  return blocks;
}

schedule::Footprint footprint_of(const loops::Program& program) {
  std::vector<std::string> channels = convolutions_of(program);
  for (std::string& loop : channels) loop += ".c";
  return schedule::Footprint(program, {std::string(kChannelsOfSums), std::move(channels)});
}

bool constants_stay(const loops::Program& program, const isa::HardwareConfig& config) {
  constexpr std::int64_t kLeastShare = 8;  // of ACC, in parts
  std::int64_t numbers = 0;
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    if (const loops::Block& block = *schedule::as_block(path.back()); is_constants(block.name))
      numbers += element_count(block.writes.front().buffer->shape);
  return numbers * kLeastShare <= config.depth(isa::Memory::acc) * element_size(isa::Memory::acc, config);
}

std::int64_t element_size(isa::Memory memory, const isa::HardwareConfig& config) {
  if (memory == isa::Memory::inp) return config.batch * config.block_in;
  if (memory == isa::Memory::wgt) return config.block_out * config.block_in;
  return config.batch * config.block_out;
}

std::vector<OnChip> on_chip_places(const schedule::Task& task, const schedule::Scheduled& smallest,
                                   const isa::HardwareConfig& config) {
  const schedule::Footprint footprint = footprint_of(task.program);
  std::vector<OnChip> places;
  const Placements found = find_places(smallest.program, *task.intrinsics, config);
  const loops::BufferNode* stored = nullptr;
  for (const schedule::Path& path : schedule::blocks_below(smallest.program.body))
    if (const loops::Block& block = *schedule::as_block(path.back()); block.name == "out")
      stored = block.reads.front().buffer.get();
  if (const Placement& placement = found.at(stored); placement.in_place_of) stored = placement.in_place_of;
  for (const auto& [buffer, placement] : found) {
    if (placement.in_place_of) continue;
    const std::string name = footprint.box(buffer->name) ? buffer->name : origin(smallest.program, buffer->name);
    places.push_back({name, placement.memory,
                      placement.memory == isa::Memory::acc ? buffer == stored : !is_identity(name),
                      is_constants(name)});
  }
  return places;
}

TileModel::TileModel(const loops::Program& program, std::span<const OnChip> places, const isa::HardwareConfig& config)
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

std::int64_t TileModel::elements_of(const Term& term, std::span<const std::int64_t> tile) {
  std::int64_t elements = term.buffers;
  for (std::size_t d = 0; d < term.box.size(); ++d) elements *= std::min(term.box[d].at(tile), term.shape[d]);
  return elements;
}

std::int64_t TileModel::needs(isa::Memory memory, std::span<const std::int64_t> tile, const Slots& slots) const {
  std::int64_t elements = 0;
  for (const Term& term : terms_)
    if (term.memory == memory) elements += elements_of(term, tile) * (term.has_slots ? slots.of(memory) : 1);
  return elements / element_size(memory, config_);
}

std::optional<Slots> TileModel::slots_that_fit(std::span<const std::int64_t> tile, std::int64_t most) const {
  Slots slots;
  for (const auto& [memory, count] : {std::pair(isa::Memory::inp, &slots.inp), std::pair(isa::Memory::wgt, &slots.wgt),
                                      std::pair(isa::Memory::acc, &slots.acc)}) {
    std::int64_t resident = 0, in_slots = 0;
    for (const Term& term : terms_)
      if (term.memory == memory) (term.has_slots ? in_slots : resident) += elements_of(term, tile);
    const std::int64_t room = config_.depth(memory) * element_size(memory, config_) - resident;
    if (room < in_slots) return std::nullopt;
    *count = in_slots == 0 ? most : std::min(most, room / in_slots);
  }
  return slots;
}

bool TileModel::fits(std::span<const std::int64_t> tile, const Slots& slots) const {
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
    if (needs(memory, tile, slots) > config_.depth(memory)) return false;
  return true;
}

std::int64_t TileModel::elements(const std::string& buffer, isa::Memory memory,
                                 std::span<const std::int64_t> tile) const {
  return footprint_.elements(buffer, tile) / element_size(memory, config_);
}

Result<std::shared_ptr<const TileModel>> TileModels::of(const schedule::Task& task, const isa::HardwareConfig& config,
                                                        const FindPlaces& find_places) {
  const std::string form = form_of(task);
  std::optional<std::vector<OnChip>> places;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = models_.find(task.program.body); known != models_.end()) return known->second;
    if (const auto known = places_.find(form); known != places_.end()) places = known->second;
  }
  const std::string shared_as = shared_ ? Memo::key_of_smallest(form, config) : "";
  if (!places && shared_)
    if (const auto known = shared_->smallest.find(shared_as)) places = *known;
  if (!places) {
    DOVETAIL_ASSIGN(places, find_places());
    if (shared_) shared_->smallest.keep(shared_as, std::make_shared<const std::vector<OnChip>>(*places));
  }
  auto model = std::make_shared<const TileModel>(task.program, *places, config);
  const std::lock_guard lock(mutex_);
  places_.emplace(form, *std::move(places));
  return models_.emplace(task.program.body, std::move(model)).first->second;
}

std::shared_ptr<TileModels> TileModels::of_other_buffers() {
  auto others = std::make_shared<TileModels>(shared_);
  const std::lock_guard lock(mutex_);
  others->places_ = places_;
  return others;
}

}  // namespace dovetail::accel
