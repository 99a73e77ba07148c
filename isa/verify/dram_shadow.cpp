#include "isa/verify/dram_shadow.h"

namespace dovetail::isa {

void DramShadow::begin_launch(const HardwareConfig& config, std::span<const Instruction> launch) {
  bytes_.clear();
  shared_.clear();
  for (const Instruction& instruction : launch) shared_.add(dram_access(config, instruction));
  shared_.close();
}

void DramShadow::access(const DramAccess& access, const Event& event, ConflictList& conflicts) {
  if (access.empty() || !shared_.meets(access.write, access.hull())) return;
  for (std::uint64_t y = 0; y < access.rows; ++y) {
    const Extent row = access.row(y);
    if (!shared_.meets(access.write, row)) continue;
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
  // The readers may be dropped: those ordered before this store are ordered before all later stores, the others are
  // reported.
  bytes_.assign(row, State{.stored = event.position});
}

}  // namespace dovetail::isa
