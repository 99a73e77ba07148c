#include "compiler/target/accel/on_chip.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/region.h"
#include "compiler/target/accel/intrinsics.h"

namespace dovetail::accel {

using namespace loops;

namespace {

std::optional<isa::Memory> memory_of(const std::string& scope) {
  if (scope == kInpScope) return isa::Memory::inp;
  if (scope == kWgtScope) return isa::Memory::wgt;
  if (scope == kAccScope) return isa::Memory::acc;
  return std::nullopt;
}

std::array<std::int64_t, 2> element_shape(isa::Memory memory, const isa::HardwareConfig& config) {
  if (memory == isa::Memory::inp) return {config.batch, config.block_in};
  if (memory == isa::Memory::wgt) return {config.block_out, config.block_in};
  return {config.batch, config.block_out};
}

// The part of `buffer` alive within one iteration of the innermost loop around all its accesses.
Placement shape_of(const Program& program, const Buffer& buffer, isa::Memory memory,
                   const isa::HardwareConfig& config) {
  std::optional<schedule::Path> home;
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    if (!schedule::reads(path.back(), buffer.get()) && !schedule::writes(path.back(), buffer.get())) continue;
    if (!home) {
      home = path;
      continue;
    }
    const auto fork = std::mismatch(home->begin(), home->end(), path.begin(), path.end());
    home->erase(fork.first, home->end());
  }
  DOVETAIL_CHECK(home && !home->empty(), fmt::format("nothing touches {}", buffer->name));
  const std::vector<const For*> outside = schedule::loops_of(*home);
  const schedule::Box box =
      schedule::touched_box(schedule::accesses(home->back(), buffer.get(), outside), *buffer, outside);

  const std::size_t dimensions = buffer->shape.size();
  DOVETAIL_CHECK(dimensions >= 2, fmt::format("{} has no element dimensions", buffer->name));
  const auto element = element_shape(memory, config);
  for (std::size_t e = 0; e < 2; ++e)
    DOVETAIL_CHECK(buffer->shape[dimensions - 2 + e] == element[e],
                   fmt::format("the last dimensions of {} {} are no element of its memory", buffer->name,
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
    stride *= box[d].extent;
  }
  placement.elements = stride;
  return placement;
}

// The buffer whose storage an in-place result takes over, for every such result.
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

}  // namespace

std::map<const BufferNode*, Placement> find_places(const Program& program, const IntrinsicTable& intrinsics,
                                                   const isa::HardwareConfig& config) {
  std::map<const BufferNode*, Placement> placements;
  for (const Buffer& buffer : program.allocations) {
    const auto memory = memory_of(buffer->scope);
    DOVETAIL_CHECK(memory, fmt::format("intermediate buffer {} of {} lies in scope {}, not on chip", buffer->name,
                                       program.name, buffer->scope));
    placements[buffer.get()] = shape_of(program, buffer, *memory, config);
  }
  const auto sources = in_place_sources(program, intrinsics);
  std::map<isa::Memory, std::int64_t> used;
  for (const Buffer& buffer : program.allocations) {
    if (sources.count(buffer.get())) continue;
    Placement& placement = placements[buffer.get()];
    placement.base = used[placement.memory];
    used[placement.memory] += placement.elements;
  }
  for (const Buffer& buffer : program.allocations) {
    const BufferNode* root = buffer.get();
    while (sources.count(root)) root = sources.at(root).get();
    if (root == buffer.get()) continue;
    Placement& own = placements[buffer.get()];
    const Placement& source = placements[root];
    DOVETAIL_CHECK(own.strides == source.strides && own.elements == source.elements,
                   fmt::format("{} cannot lie in place of {}", buffer->name, root->name));
    own.base = source.base;
    own.in_place = true;
  }
  return placements;
}

Result<std::map<const BufferNode*, Placement>> place_buffers(const Program& program, const IntrinsicTable& intrinsics,
                                                             const isa::HardwareConfig& config) {
  auto placements = find_places(program, intrinsics, config);
  std::map<isa::Memory, std::int64_t> used;
  for (const auto& [buffer, placement] : placements)
    if (!placement.in_place) used[placement.memory] += placement.elements;
  Diagnostics errors;
  for (const auto& [memory, elements] : used)
    if (elements > config.depth(memory))
      errors.push_back({fmt::format("cannot place the tiles of {}", program.name), program.name,
                        fmt::format("they need {} elements of a buffer that holds {}", elements, config.depth(memory)),
                        "use smaller tiles or a larger buffer"});
  if (!errors.empty()) return errors;
  return placements;
}

}  // namespace dovetail::accel
