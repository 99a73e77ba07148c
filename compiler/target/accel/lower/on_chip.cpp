#include "compiler/target/accel/lower/on_chip.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/region.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "isa/spec/memories.h"

namespace dovetail::accel {

using namespace loops;

namespace {

std::optional<isa::Memory> memory_of(const std::string& scope) {
  if (scope == kInpScope) return isa::Memory::inp;
  if (scope == kWgtScope) return isa::Memory::wgt;
  if (scope == kAccScope) return isa::Memory::acc;
  return std::nullopt;
}

std::array<std::int64_t, 2> element_shape(isa::Memory memory, const BlockSizes& sizes) {
  if (memory == isa::Memory::inp) return {sizes.batch, sizes.block_in};
  if (memory == isa::Memory::wgt) return {sizes.block_out, sizes.block_in};
  return {sizes.batch, sizes.block_out};
}

std::int64_t slots_of(const Program& program, const Buffer& buffer) {
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    const Block& block = *schedule::as_block(path.back());
    const auto slots = block.annotations.find(schedule::kSlots);
    if (slots != block.annotations.end() && block.writes.front().buffer == buffer) return std::stoll(slots->second);
  }
  return 1;
}

// The part of `buffer` that is live within one iteration of the innermost loop around all its accesses.
Placement shape_of(const Program& program, const Buffer& buffer, isa::Memory memory, const BlockSizes& sizes) {
  const schedule::Path home = schedule::home_of(program.body, buffer.get());
  const std::vector<const For*> outside = schedule::loops_of(home);
  const schedule::Box box = schedule::touched_box(
      schedule::accesses(home.empty() ? program.body : schedule::as_for(home.back())->body, buffer.get(), outside),
      *buffer, outside);

  const std::size_t dimensions = buffer->shape.size();
  DOVETAIL_CHECK(dimensions >= 2, fmt::format("{} has no element dimensions", buffer->name));
  const auto element = element_shape(memory, sizes);
  for (std::size_t e = 0; e < 2; ++e)
    DOVETAIL_CHECK(buffer->shape[dimensions - 2 + e] == element[e],
                   fmt::format("the last dimensions of {} {} are not an element of its memory", buffer->name,
                               to_string(buffer->shape)));
  Placement placement;
  placement.memory = memory;
  placement.strides.assign(dimensions, 0);
  placement.min.resize(dimensions);
  std::int64_t stride = 1;
  for (std::size_t d = dimensions - 2; d-- > 0;) {
    const auto min = affine(box[d].min, schedule::bounds_of(outside));
    DOVETAIL_CHECK(min, fmt::format("the region of {} is not affine", buffer->name));
    placement.min[d] = *min;
    placement.strides[d] = stride;
    std::int64_t extent = box[d].extent;
    if (min->coefficients.empty()) {
      // Masks prevent accesses beyond the buffer.
      const std::int64_t end = std::min(min->constant + extent, buffer->shape[d]);
      placement.min[d].constant = std::max<std::int64_t>(min->constant, 0);
      extent = end - placement.min[d].constant;
    }
    stride *= extent;
  }
  placement.elements = stride;
  placement.home = outside;
  for (const For* loop : outside)
    if (loop->kind == ForKind::vthread) placement.contexts *= loop->extent;
  placement.slots = slots_of(program, buffer);
  // Statements of a pipelined loop run ahead of its last statement if they write a buffer with slots.
  if (!outside.empty() && outside.back()->kind == ForKind::pipelined)
    placement.slots =
        std::max<std::int64_t>(placement.slots, std::stoll(outside.back()->annotations.at(schedule::kStages)));
  return placement;
}

// For every in-place result, the buffer whose storage it reuses.
std::map<const BufferNode*, Buffer> in_place_sources(const Program& program, const IntrinsicTable& intrinsics) {
  std::map<const BufferNode*, Buffer> sources;
  std::vector<const Block*> blocks;
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    blocks.push_back(schedule::as_block(path.back()));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto* call = std::get_if<IntrinsicCall>(&blocks[i]->body->node);
    if (!call) continue;
    const Intrinsic* row = find_intrinsic(intrinsics, call->intrinsic);
    if (!row || !row->in_place || call->operands[0].buffer == call->operands[1].buffer) continue;
    const Buffer source = call->operands[1].buffer;
    sources[call->operands[0].buffer.get()] = source;
    for (std::size_t later = i + 1; later < blocks.size(); ++later)
      for (const Region& region : blocks[later]->reads)
        DOVETAIL_CHECK(region.buffer != source, fmt::format("{} overwrites {} in place, but block {} reads it later",
                                                            call->intrinsic, source->name, blocks[later]->name));
  }
  return sources;
}

// Places buffers one after the other in a memory, from address `at`.
void line_up(Placements& placements, const std::vector<Buffer>& buffers, isa::Memory memory, std::int64_t at) {
  for (const Buffer& buffer : buffers) {
    Placement& placement = placements.at(buffer.get());
    if (placement.memory != memory || placement.in_place_of) continue;
    placement.base = at;
    at += placement.all_elements();
  }
}

// Makes the slot that can be filled first the first slot. Returns the time of its last access.
std::int64_t choose_first(Placement& placement, const SramHistory& history) {
  std::int64_t earliest = INT64_MAX;
  for (std::int64_t slot = 0; slot < placement.slots; ++slot) {
    const std::int64_t begin = placement.base + slot * placement.elements;
    const std::int64_t touched = history.last_touch(placement.memory, begin, begin + placement.elements);
    if (touched < earliest) earliest = touched, placement.first = slot;
  }
  return earliest;
}

void follow_operands(Placements& placements) {
  for (auto& [buffer, placement] : placements) {
    if (!placement.in_place_of) continue;
    const Placement& operand = placements.at(placement.in_place_of);
    placement.base = operand.base;
    placement.first = operand.first;
  }
}

}  // namespace

std::int64_t Placement::begin(const LoopValues& values) const {
  if (slots * contexts == 1) return base;
  std::int64_t iteration = 0, context = 0;
  for (const For* loop : home) {
    std::int64_t& index = loop->kind == ForKind::vthread ? context : iteration;
    index = index * loop->extent + values.at(loop->var.get());
  }
  return base + (context * slots + (first + iteration) % slots) * elements;
}

Placements find_places(const Program& program, const IntrinsicTable& intrinsics, const BlockSizes& sizes) {
  Placements placements;
  for (const Buffer& buffer : program.allocations) {
    const auto memory = memory_of(buffer->scope);
    DOVETAIL_CHECK(memory, fmt::format("intermediate buffer {} of {} is in scope {}, not on chip", buffer->name,
                                       program.name, buffer->scope));
    placements[buffer.get()] = shape_of(program, buffer, *memory, sizes);
  }
  const auto sources = in_place_sources(program, intrinsics);
  for (const Buffer& buffer : program.allocations) {
    const BufferNode* root = buffer.get();
    while (sources.count(root)) root = sources.at(root).get();
    if (root == buffer.get()) continue;
    Placement& own = placements[buffer.get()];
    const Placement& source = placements[root];
    DOVETAIL_CHECK(own.strides == source.strides && own.elements == source.elements,
                   fmt::format("{} cannot be in place of {}", buffer->name, root->name));
    own.in_place_of = root;
    own.slots = source.slots;
    own.contexts = source.contexts;
    own.home = source.home;
  }
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
    line_up(placements, program.allocations, memory, 0);
  follow_operands(placements);
  return placements;
}

void SramHistory::touch(isa::Memory memory, std::int64_t begin, std::int64_t end, std::int64_t at) {
  std::vector<Touch>& touches = touches_[memory];
  std::erase_if(touches, [&](const Touch& touch) { return begin <= touch.begin && touch.end <= end; });
  touches.push_back({begin, end, at});
}

std::int64_t SramHistory::last_touch(isa::Memory memory, std::int64_t begin, std::int64_t end) const {
  std::int64_t last = -1;
  const auto touches = touches_.find(memory);
  if (touches == touches_.end()) return last;
  for (const Touch& touch : touches->second)
    if (touch.begin < end && begin < touch.end) last = std::max(last, touch.at);
  return last;
}

Result<Placements> place_buffers(const Program& program, Placements placements, const isa::HardwareConfig& config,
                                 const SramHistory& history) {
  Diagnostics errors;
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc}) {
    std::int64_t used = 0;
    for (const auto& [buffer, placement] : placements)
      if (placement.memory == memory && !placement.in_place_of) used += placement.all_elements();
    const std::int64_t free = config.depth(memory) - used;
    if (free < 0) {
      errors.push_back({fmt::format("cannot place the tiles of {}", program.name), program.name,
                        fmt::format("they need {} elements, and the buffer has {}", used, config.depth(memory)),
                        "use smaller tiles, fewer slots or a larger buffer"});
      continue;
    }
    const auto blocked_until = [&](std::int64_t at) {
      line_up(placements, program.allocations, memory, at);
      std::int64_t last = -1;
      for (auto& [buffer, placement] : placements)
        if (placement.memory == memory && !placement.in_place_of)
          last = std::max(last, choose_first(placement, history));
      return last;
    };
    const std::int64_t bottom = blocked_until(0), top = blocked_until(free);
    if (bottom <= top) blocked_until(0);
  }
  if (!errors.empty()) return errors;
  follow_operands(placements);
  return placements;
}

std::string places_text(const Program& program, const Placements& placements) {
  std::string text;
  for (const Buffer& buffer : program.allocations) {
    const Placement& place = placements.at(buffer.get());
    text += fmt::format("{:24} {} {:5} + {:5}", buffer->name, isa::spec::info(place.memory).name, place.base,
                        place.elements);
    if (place.slots > 1) text += fmt::format(" x {} slots, from slot {}", place.slots, place.first);
    if (place.contexts > 1) text += fmt::format(", for each of {} virtual threads", place.contexts);
    if (place.in_place_of) text += fmt::format(", in place of {}", place.in_place_of->name);
    text += '\n';
  }
  return text;
}

}  // namespace dovetail::accel
