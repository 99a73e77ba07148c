#include "compiler/target/accel/lower/on_chip.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/saturating.h"
#include "compiler/schedule/dependence.h"
#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/region.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "isa/spec/memories.h"
#include "loops/print.h"
#include "loops/stages.h"

namespace dovetail::accel {

using namespace loops;

namespace {

std::optional<isa::Memory> memory_of(const std::string& scope) {
  if (scope == kInpScope) return isa::Memory::inp;
  if (scope == kWgtScope) return isa::Memory::wgt;
  if (scope == kAccScope) return isa::Memory::acc;
  if (scope == kTabScope) return isa::Memory::tab;
  return std::nullopt;
}

struct Element {
  DType dtype;
  Shape shape;
};
Element element_of(isa::Memory memory, const BlockSizes& sizes, DType dtype) {
  if (memory == isa::Memory::inp) return {DType::int8, {sizes.batch, sizes.block_in}};
  if (memory == isa::Memory::wgt) return {DType::int8, {sizes.block_out, sizes.block_in}};
  if (memory == isa::Memory::tab)
    return {dtype == DType::uint16 ? DType::uint16 : DType::int16, {1, isa::spec::kTableEntries}};
  return {DType::int32, {sizes.batch, sizes.block_out}};
}

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // of a buffer: more than any memory has

// Precondition: the program keeps the guarantees of its slots (schedule::first_broken_kind).
std::int64_t slots_of(const Program& program, const Buffer& buffer) {
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    const Block& block = *schedule::as_block(path.back());
    if (block.annotations.contains(schedule::kSlots) && block.writes.front().buffer == buffer)
      return *loops::count_of(block.annotations, schedule::kSlots, 1);
  }
  return 1;
}

std::int64_t saturated(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(
      std::min(saturating_product(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)),
               static_cast<std::uint64_t>(kMostElements)));
}

// The part of `buffer` that is live within one iteration of the innermost loop around all its accesses.
Result<Placement> shape_of(const Program& program, const Buffer& buffer, isa::Memory memory, const BlockSizes& sizes) {
  const auto refuse = [&](std::string why, std::string hint) {
    return cannot_lower(program, fmt::format("buffer {}", buffer->name), std::move(why), std::move(hint));
  };
  const Element element = element_of(memory, sizes, buffer->dtype);
  const Shape& shape = buffer->shape;
  if (buffer->dtype != element.dtype)
    return refuse(fmt::format("its type is {}, and {} has {}", name(buffer->dtype), buffer->scope, name(element.dtype)),
                  fmt::format("give it type {}, or another scope", name(element.dtype)));
  if (shape.size() < 2 || !std::equal(element.shape.begin(), element.shape.end(), shape.end() - 2))
    return refuse(fmt::format("its shape is {}, and must end in {}, an element of {}", to_string(shape),
                              to_string(element.shape), buffer->scope),
                  "transform_layout it so that its last two dimensions are an element");
  const schedule::Path home = schedule::home_of(program.body, buffer.get());
  const std::vector<const For*> outside = schedule::loops_of(home);
  const schedule::Box box = schedule::touched_box(
      schedule::accesses(home.empty() ? program.body : schedule::as_for(home.back())->body, buffer.get(), outside),
      *buffer, outside);

  const std::size_t dimensions = shape.size();
  Placement placement;
  placement.memory = memory;
  placement.strides.assign(dimensions, 0);
  placement.min.resize(dimensions);
  std::int64_t stride = 1;
  for (std::size_t d = dimensions - 2; d-- > 0;) {
    const auto min = affine(box[d].min, schedule::bounds_of(outside));
    if (!min)
      return refuse(fmt::format("its accessed part begins at {}, which is not affine in the loops around it",
                                loops::to_string(box[d].min)),
                    "split the loops so that each tile begins at a multiple of a loop");
    placement.min[d] = *min;
    placement.strides[d] = stride;
    std::int64_t extent = box[d].extent;
    if (min->coefficients.empty()) {
      // Masks prevent accesses beyond the buffer.
      const std::int64_t end = std::min(min->constant + extent, shape[d]);
      placement.min[d].constant = std::max<std::int64_t>(min->constant, 0);
      extent = end - placement.min[d].constant;
    }
    stride = saturated(stride, extent);
  }
  placement.elements = stride;
  placement.home = outside;
  for (const For* loop : outside)
    if (loop->kind == ForKind::vthread) placement.contexts = saturated(placement.contexts, loop->extent);
  placement.slots = slots_of(program, buffer);
  // Statements of a pipelined loop run ahead of its last statement if they write a buffer with slots.
  if (!outside.empty() && outside.back()->kind == ForKind::pipelined)
    placement.slots = std::max<std::int64_t>(placement.slots, *loops::stages_of(outside.back()->annotations));
  if (saturated(saturated(placement.elements, placement.slots), placement.contexts) == kMostElements)
    return refuse(fmt::format("its slots and virtual threads need {} elements or more", kMostElements),
                  "compute it in tiles, with fewer slots or virtual threads");
  return placement;
}

// For every in-place result, the buffer whose storage it reuses. Errors: a buffer that another block accesses after it
// was overwritten: later in the program, or in a later iteration of a loop that both blocks share within one iteration
// of the loops around all accesses (`home` of the buffer's placement).
Result<std::map<const BufferNode*, Buffer>> in_place_sources(const Program& program, const IntrinsicTable& intrinsics,
                                                             const Placements& placements) {
  std::map<const BufferNode*, Buffer> sources;
  const std::vector<schedule::Path> paths = schedule::blocks_below(program.body);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Block& block = *schedule::as_block(paths[i].back());
    const auto* call = std::get_if<IntrinsicCall>(&block.body->node);
    if (!call) continue;
    const Intrinsic* row = find_intrinsic(intrinsics, call->intrinsic);
    if (!row || !row->in_place || call->operands[0].buffer == call->operands[1].buffer) continue;
    const Buffer source = call->operands[1].buffer;
    const auto [known, added] = sources.emplace(call->operands[0].buffer.get(), source);
    if (!added && known->second != source)
      return cannot_lower(program, fmt::format("block {}", block.name),
                          fmt::format("{} would be in place of both {} and {}", call->operands[0].buffer->name,
                                      known->second->name, source->name),
                          "let one buffer be the result of one operation");
    const std::vector<const For*> around = schedule::loops_of(paths[i]);
    const std::size_t home = placements.at(source.get()).home.size();
    for (std::size_t other = 0; other < paths.size(); ++other) {
      if (other == i) continue;
      const schedule::Path& path = paths[other];
      if (!schedule::reads(path.back(), source.get()) && !schedule::writes(path.back(), source.get())) continue;
      const std::vector<const For*> there = schedule::loops_of(path);
      const std::size_t shared = static_cast<std::size_t>(std::ranges::mismatch(around, there).in1 - around.begin());
      if (other < i && shared <= home) continue;
      return cannot_lower(program, fmt::format("block {}", block.name),
                          fmt::format("{} overwrites {} in place, and block {} accesses it {}", call->intrinsic,
                                      source->name, schedule::as_block(path.back())->name,
                                      other > i ? "later" : "in later iterations of a loop around both"),
                          fmt::format("compute the operand a second time, or let block {} be the last that uses {}",
                                      block.name, source->name));
    }
  }
  return sources;
}

// Puts the elements of buffers that an intrinsic reads one after the other (S and S1) next to each other.
Result<void> interleave(const Program& program, const IntrinsicTable& intrinsics, Placements& placements) {
  const auto root = [&](const Buffer& buffer) {
    const BufferNode* own = placements.at(buffer.get()).in_place_of;
    return own ? own : buffer.get();
  };
  constexpr std::size_t kSources = 2;  // D and A come first
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    const Block& block = *schedule::as_block(path.back());
    const auto* call = std::get_if<IntrinsicCall>(&block.body->node);
    const Intrinsic* row = call ? find_intrinsic(intrinsics, call->intrinsic) : nullptr;
    if (!row || !row->in_place || call->operands.size() < kSources + 2 || row->scopes[kSources] != kAccScope ||
        row->scopes[kSources + 1] != kAccScope)
      continue;
    const Buffer &source = call->operands[kSources].buffer, &next = call->operands[kSources + 1].buffer;
    const BufferNode *first = root(source), *second = root(next);
    Placement &a = placements.at(first), &b = placements.at(second);
    if (first == second || b.after == first) continue;
    const auto is_single = [](const Placement& placement) { return !placement.interleaved && placement.slots == 1; };
    if (!is_single(a) || !is_single(b) || a.strides != b.strides || a.elements != b.elements || a.home != b.home)
      return cannot_lower(program, fmt::format("block {}", block.name),
                          fmt::format("{} reads consecutive elements of {} and {}, which have no common place",
                                      call->intrinsic, source->name, next->name),
                          "give both one layout without slots, use each as such an operand with the other alone, and "
                          "compute_at what writes them into one loop");
    b.after = first;
    for (auto& [buffer, placement] : placements) {
      if (buffer != first && buffer != second && placement.in_place_of != first && placement.in_place_of != second)
        continue;
      for (std::int64_t& stride : placement.strides) stride *= 2;
      placement.elements *= 2;
      placement.interleaved = true;
    }
  }
  return {};
}

// The innermost of the loops around all accesses.
std::string loop_text(const std::vector<const For*>& home) {
  return home.empty() ? "no loop" : fmt::format("loop {}", home.back()->var->name);
}

// Places buffers one after the other in a memory, from address `at`.
void line_up(Placements& placements, const std::vector<Buffer>& buffers, isa::Memory memory, std::int64_t at) {
  for (const Buffer& buffer : buffers) {
    Placement& placement = placements.at(buffer.get());
    if (placement.memory != memory || placement.in_place_of || placement.after) continue;
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
    if (!placement.after) continue;
    const Placement& first = placements.at(placement.after);
    placement.base = first.base + 1;
    placement.first = first.first;
  }
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

Diagnostic cannot_lower(const Program& program, std::string where, std::string why, std::string hint) {
  return {fmt::format("cannot lower {} to the accelerator", program.name), std::move(where), std::move(why),
          std::move(hint)};
}

Result<Placements> find_places(const Program& program, const IntrinsicTable& intrinsics, const BlockSizes& sizes) {
  Placements placements;
  Diagnostics errors;
  for (const Buffer& buffer : program.allocations) {
    const auto memory = memory_of(buffer->scope);
    auto placement =
        memory
            ? shape_of(program, buffer, *memory, sizes)
            : cannot_lower(program, fmt::format("buffer {}", buffer->name),
                           fmt::format("it is in scope {}, which is not a memory of the accelerator", buffer->scope),
                           fmt::format("set_scope it to {}, {}, {} or {}", kInpScope, kWgtScope, kAccScope, kTabScope));
    if (placement.ok()) placements[buffer.get()] = *std::move(placement);
    else errors.insert(errors.end(), placement.errors().begin(), placement.errors().end());
  }
  if (!errors.empty()) return errors;
  DOVETAIL_ASSIGN(const auto sources, in_place_sources(program, intrinsics, placements));
  for (const Buffer& buffer : program.allocations) {
    const BufferNode* root = buffer.get();
    while (sources.count(root)) root = sources.at(root).get();
    if (root == buffer.get()) continue;
    Placement& own = placements[buffer.get()];
    const Placement& source = placements[root];
    const auto unlike = [&](std::string why, std::string hint) {
      return cannot_lower(program, fmt::format("buffer {}", buffer->name),
                          fmt::format("it is computed in place of {}, and {}", root->name, why), std::move(hint));
    };
    if (own.home != source.home)
      return unlike(fmt::format("is used within {}, the other within {}", loop_text(own.home), loop_text(source.home)),
                    "compute_at what writes and reads them into one loop");
    if (own.strides != source.strides || own.elements != source.elements)
      return unlike(fmt::format("has {} elements there, the other {}", own.elements, source.elements),
                    "give both one layout, and let their blocks go over the same elements");
    if (own.slots != 1 && own.slots != source.slots)
      return unlike(fmt::format("has {} slots, the other {}", own.slots, source.slots),
                    fmt::format("write slots {} {}", root->name, own.slots));
    own.in_place_of = root;
    own.slots = source.slots;
    own.contexts = source.contexts;
    own.home = source.home;
  }
  DOVETAIL_TRY(interleave(program, intrinsics, placements));
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc, isa::Memory::tab})
    line_up(placements, program.allocations, memory, 0);
  follow_operands(placements);
  return placements;
}

Result<void> check_private(const Program& program, const IntrinsicTable& intrinsics, const Placements& placements) {
  Diagnostics errors;
  for (const Buffer& buffer : program.allocations) {
    const schedule::Path home = schedule::home_of(program.body, buffer.get());
    const Placement& placement = placements.at(buffer.get());
    for (std::size_t length = 1; length <= home.size(); ++length) {
      const For* loop = schedule::as_for(home[length - 1]);
      if (loop == nullptr || std::ranges::none_of(placement.min, [&](const Affine& min) {
            return min.coefficients.contains(loop->var.get());
          }))
        continue;
      const schedule::Path path(home.begin(), home.begin() + static_cast<std::ptrdiff_t>(length));
      if (const std::string why = schedule::not_private(program, path, buffer, intrinsics); !why.empty()) {
        errors.push_back(cannot_lower(
            program, fmt::format("buffer {}", buffer->name),
            fmt::format("it holds the part of one iteration of loop {}, which could read what another iteration "
                        "wrote: {}",
                        loop->var->name, why),
            fmt::format(
                "compute_at what writes it into {}, or keep all of it on chip by an access outside of that loop",
                loop->var->name)));
        break;
      }
    }
  }
  return errors;
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
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc, isa::Memory::tab}) {
    std::int64_t used = 0;
    for (const auto& [buffer, placement] : placements)
      if (placement.memory == memory && !placement.in_place_of && !placement.after) used += placement.all_elements();
    const std::int64_t depth = usable_depth(config, memory), free = depth - used;
    if (free < 0) {
      errors.push_back({fmt::format("cannot place the tiles of {}", program.name), program.name,
                        fmt::format("they need {} elements, and the buffer has {}", used, depth),
                        "use smaller tiles, fewer slots or a larger buffer"});
      continue;
    }
    const auto blocked_until = [&](std::int64_t at) {
      line_up(placements, program.allocations, memory, at);
      std::int64_t last = -1;
      for (auto& [buffer, placement] : placements)
        if (placement.memory == memory && !placement.in_place_of && !placement.after)
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
    if (place.after) text += fmt::format(", between those of {}", place.after->name);
    if (place.in_place_of) text += fmt::format(", in place of {}", place.in_place_of->name);
    text += '\n';
  }
  return text;
}

}  // namespace dovetail::accel
