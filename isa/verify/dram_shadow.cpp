#include "isa/verify/dram_shadow.h"

#include <algorithm>

namespace dovetail::isa {
namespace {

void unite(std::vector<Extent>& extents) {
  std::sort(extents.begin(), extents.end());
  std::vector<Extent> united;
  for (const Extent& extent : extents) {
    if (!united.empty() && united.back().end >= extent.begin)
      united.back().end = std::max(united.back().end, extent.end);
    else united.push_back(extent);
  }
  extents = std::move(united);
}

// Precondition: sorted, disjoint.
bool meets(const std::vector<Extent>& extents, const Extent& extent) {
  const auto after =
      std::partition_point(extents.begin(), extents.end(), [&](const Extent& e) { return e.end <= extent.begin; });
  return after != extents.end() && after->begin < extent.end;
}

}  // namespace

void DramShadow::begin_launch(const HardwareConfig& config, std::span<const Instruction> launch) {
  bytes_.clear();
  stored_.clear();
  loaded_.clear();
  for (const Instruction& instruction : launch) {
    const DramAccess access = dram_access(config, instruction);
    if (access.empty()) continue;
    (access.write ? stored_ : loaded_).push_back(access.hull());
  }
  unite(stored_);
  unite(loaded_);
}

void DramShadow::access(const DramAccess& access, const Event& event, ConflictList& conflicts) {
  const std::vector<Extent>& others = access.write ? loaded_ : stored_;
  if (access.empty() || !meets(others, access.hull())) return;
  for (std::uint64_t y = 0; y < access.rows; ++y) {
    const Extent row = access.row(y);
    if (!meets(others, row)) continue;
    if (access.write) write(row, event, conflicts);
    else read(row, event, conflicts);
  }
}

void DramShadow::read(Extent row, const Event& event, ConflictList& conflicts) {
  const Position done = event.clock[index(Queue::store)];
  bytes_.update(row, [&](State& state, Extent part) {
    if (state.stored > done) conflicts.add(Queue::store, state.stored, false, part);
    (event.queue == Queue::load ? state.loaded : state.computed) = event.position;
  });
}

void DramShadow::write(Extent row, const Event& event, ConflictList& conflicts) {
  bytes_.query(row, [&](const State& state, Extent part) {
    if (state.loaded > event.clock[index(Queue::load)]) conflicts.add(Queue::load, state.loaded, false, part);
    if (state.computed > event.clock[index(Queue::compute)]) conflicts.add(Queue::compute, state.computed, false, part);
  });
  // The readers may be forgotten: those ordered before this store are ordered before all later ones, the others are
  // reported.
  bytes_.assign(row, State{.stored = event.position});
}

}  // namespace dovetail::isa
