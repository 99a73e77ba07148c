#include "simulator/rtl/port_watch.h"

#include <utility>

#include "isa/spec/timing.h"

namespace dovetail::simulator {

using namespace port_signal;

namespace {

constexpr bool bit(std::uint32_t signals, int position) { return (signals >> position & 1) != 0; }
constexpr int kFetch = 0;
constexpr std::array<isa::Queue, 3> kUnitOfReader{isa::Queue::load, isa::Queue::compute,
                                                  isa::Queue::load};  // fetch has none

}  // namespace

void PortWatch::begin(std::size_t instructions, std::size_t first_index) {
  *this = {};
  waits_.instructions.resize(instructions);
  first_index_ = first_index;
}

void PortWatch::accepted(Direction direction, Cycle cycle, Cycle answer, std::uint32_t beats,
                         const MemorySplit& delay) {
  is_accepted_[static_cast<std::size_t>(direction)] = true;
  delays_[static_cast<std::size_t>(direction)] = delay;
  if (direction == Direction::read) {
    accepted_beats_ = beats;
    waits_.traffic.add_read(answer, beats);
  } else {
    waits_.traffic.add_written(cycle + static_cast<Cycle>(isa::spec::kAddressToData.value), beats);
  }
}

void PortWatch::charge(isa::Queue unit, std::uint32_t instruction, Cycle& wait, const MemorySplit& parts) {
  const MemorySplit split = divide_wait(std::exchange(wait, 0), parts);
  waits_.units[isa::index(unit)] += split;
  const std::size_t at = instruction - first_index_;
  if (at < waits_.instructions.size()) waits_.instructions[at] += split;  // a faulty design may name any instruction
}

// Handles the burst in the address register, which was accepted or refused; other requesting readers are then granted,
// or wait for it.
void PortWatch::read_port(std::uint32_t signals) {
  const bool is_accepted = std::exchange(is_accepted_[0], false);
  const bool refused = bit(signals, kReadAddress) && !is_accepted;
  if (at_address_ >= 0 && bit(signals, kReadAddress)) {
    Reader& owner = readers_[static_cast<std::size_t>(at_address_)];
    Delay& delay = owner.delays[owner.delays.size() - 1 - (owner.asks ? 1 : 0)];
    if (is_accepted) {
      delay.parts += delays_[0];
      delay.beats = accepted_beats_;
      at_address_ = -1;
    } else {
      ++delay.parts[MemoryCause::full];
    }
  }
  for (int r = 0; r < 3; ++r) {
    if (!bit(signals, kRequest + r)) continue;
    Reader& reader = readers_[static_cast<std::size_t>(r)];
    if (!reader.asks) reader.delays.emplace_back();
    reader.asks = !bit(signals, kGrant + r);
    if (reader.asks) ++reader.delays.back().parts[refused ? MemoryCause::full : MemoryCause::arbitration];
    else at_address_ = r;
  }
}

void PortWatch::read_buffers(std::uint32_t signals, const std::uint32_t moved[3]) {
  for (int r = 0; r < 3; ++r) {
    Reader& reader = readers_[static_cast<std::size_t>(r)];
    const isa::Queue unit = kUnitOfReader[static_cast<std::size_t>(r)];
    reader.waited += r == kFetch ? bit(signals, kFetchWanting) && !bit(signals, kFetchBeat)
                                 : bit(signals, kMemory + static_cast<int>(isa::index(unit)));
    if (!bit(signals, kPop + r) || reader.delays.empty()) continue;
    Delay& oldest = reader.delays.front();
    if (reader.waited != 0) {
      if (r == kFetch) waits_.fetch.memory += divide_wait(std::exchange(reader.waited, 0), oldest.parts);
      else charge(unit, moved[isa::index(unit)], reader.waited, oldest.parts);
    }
    if (--oldest.beats == 0) reader.delays.pop_front();
  }
}

void PortWatch::fetch(std::uint32_t signals) {
  if (bit(signals, kFetchSlot)) {
    ++waits_.fetch.issue;
    return;
  }
  if (!bit(signals, kFetchBeat)) return;
  for (int unit = 0; unit < 3; ++unit)
    waits_.fetch.queue_full[static_cast<std::size_t>(unit)] += bit(signals, kFetchBlocked + unit);
}

void PortWatch::store(Cycle cycle, std::uint32_t signals, std::uint32_t moved) {
  if (bit(signals, kWriteAddress)) {
    if (std::exchange(is_accepted_[1], false)) taken_.memory = delays_[1];
    else ++taken_.to_address[MemoryCause::full];
  }
  if (bit(signals, kMemory + static_cast<int>(isa::index(isa::Queue::store)))) {
    ++store_waited_;
  } else if (store_waited_ != 0) {
    // Store slot: its buffer entry is free because a beat was sent in the preceding cycle. No slot: all the
    // instruction's bursts are answered.
    MemorySplit parts = bit(signals, kStoreSlot) ? sent_.to_address : taken_.to_address;
    if (bit(signals, kStoreSlot)) parts[MemoryCause::bandwidth] += cycle - sent_.first_data;
    else parts += taken_.memory;
    charge(isa::Queue::store, moved, store_waited_, parts);
  }
  if (bit(signals, kWriteSent)) {
    if (!std::exchange(taken_.sends, true)) taken_.first_data = cycle;
    sent_ = taken_;
  }
  if (bit(signals, kWriteTake)) {
    taken_ = {};
    taken_.to_address[MemoryCause::bandwidth] = cycle - ready_.front();
    ready_.pop_front();
  }
  if (bit(signals, kWriteReady)) ready_.push_back(cycle + 1);
}

void PortWatch::cycle(Cycle cycle, std::uint32_t signals, const std::uint32_t moved[3]) {
  read_port(signals);
  read_buffers(signals, moved);
  fetch(signals);
  store(cycle, signals, moved[isa::index(isa::Queue::store)]);
}

MemoryWaits PortWatch::finish(std::uint64_t cycles) {
  waits_.fetch.done = cycles - waits_.fetch.total();
  return std::move(waits_);
}

}  // namespace dovetail::simulator
