#include "compiler/target/accel/sketches/tile_model.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/schedule/nest.h"
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

}  // namespace

std::int64_t element_size(isa::Memory memory, const isa::HardwareConfig& config) {
  if (memory == isa::Memory::inp) return config.batch * config.block_in;
  if (memory == isa::Memory::wgt) return config.block_out * config.block_in;
  return config.batch * config.block_out;
}

TileModel::TileModel(const schedule::Task& task, const schedule::Scheduled& smallest, const isa::HardwareConfig& config)
    : footprint_(task.program), config_(config) {
  for (const auto& [buffer, placement] : find_places(smallest.program, *task.intrinsics, config)) {
    if (placement.in_place) continue;
    const auto* box = footprint_.box(buffer->name);
    if (!box) box = footprint_.box(origin(smallest.program, buffer->name));
    DOVETAIL_CHECK(box, buffer->name + " is read");
    const Term term{placement.memory, *box};
    const auto same = std::ranges::find_if(
        terms_, [&](const Term& other) { return other.memory == term.memory && other.box == term.box; });
    if (same == terms_.end()) terms_.push_back(term);
    else ++same->buffers;
  }
}

std::int64_t TileModel::needs(isa::Memory memory, std::span<const std::int64_t> tile) const {
  std::int64_t elements = 0;
  for (const Term& term : terms_) {
    if (term.memory != memory) continue;
    std::int64_t box = term.buffers;
    for (const schedule::TileExtent& extent : term.box) box *= extent.at(tile);
    elements += box;
  }
  return elements / element_size(memory, config_);
}

bool TileModel::fits(std::span<const std::int64_t> tile) const {
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
    if (needs(memory, tile) > config_.depth(memory)) return false;
  return true;
}

std::int64_t TileModel::elements(const std::string& buffer, isa::Memory memory,
                                 std::span<const std::int64_t> tile) const {
  return footprint_.elements(buffer, tile) / element_size(memory, config_);
}

Result<std::shared_ptr<const TileModel>> TileModels::of(const schedule::Task& task, const Make& make) {
  const std::string key = schedule::key(task);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = models_.find(key); known != models_.end()) return known->second;
  }
  DOVETAIL_ASSIGN(TileModel model, make());
  const std::lock_guard lock(mutex_);
  return models_.emplace(key, std::make_shared<const TileModel>(std::move(model))).first->second;
}

}  // namespace dovetail::accel
