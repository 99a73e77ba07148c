#include "simulator/memory/bank.h"

#include <algorithm>
#include <bit>

namespace dovetail::simulator {

namespace {

int floor_log2(std::int64_t power) { return std::bit_width(static_cast<std::uint64_t>(power)) - 1; }

}  // namespace

BankModel::BankModel(const BankMemory& spec, std::int64_t bus_bytes)
    : spec_(spec),
      bus_bytes_(static_cast<std::uint64_t>(bus_bytes)),
      access_log2_(floor_log2(spec.standard.access_bytes)),
      channel_log2_(floor_log2(spec.standard.channels)),
      group_log2_(floor_log2(spec.standard.bank_groups)),
      column_log2_(floor_log2(spec.standard.row_bytes / spec.standard.access_bytes)),
      bank_log2_(floor_log2(spec.standard.banks_per_group)),
      rank_log2_(floor_log2(spec.standard.ranks)),
      ports_(static_cast<std::size_t>(spec.ports),
             {.outstanding = {Outstanding(spec.outstanding), Outstanding(spec.outstanding)}}) {
  reset();
}

void BankModel::reset() {
  const DramStandard& dram = spec_.standard;
  Rank rank;
  rank.groups.resize(static_cast<std::size_t>(dram.bank_groups));
  rank.banks.resize(static_cast<std::size_t>(dram.bank_groups * dram.banks_per_group));
  rank.refresh = dram.refi;
  rank.activates.fill(-dram.faw);
  Channel channel;
  channel.ranks.assign(static_cast<std::size_t>(dram.ranks), rank);
  channels_.assign(static_cast<std::size_t>(dram.channels), channel);
  for (Port& port : ports_) {
    for (Outstanding& way : port.outstanding) way.clear();
    port.last = {};
  }
  port_ = 0;
  commands_ = {};
}

// From the low bits up: byte of an access, channel, bank group, column, bank, rank, row. Neighboring accesses thus get
// the short tCCD.
BankModel::Place BankModel::place(std::uint64_t address) const {
  address >>= access_log2_;
  const auto take = [&](int bits) {
    const std::uint64_t value = address & ((std::uint64_t{1} << bits) - 1);
    address >>= bits;
    return value;
  };
  Place place{};
  place.channel = take(channel_log2_);
  place.group = take(group_log2_);
  take(column_log2_);
  place.bank = take(bank_log2_);
  place.rank = take(rank_log2_);
  place.row = static_cast<std::int64_t>(address);
  return place;
}

BankModel::Clock BankModel::clock_of(Cycle cycle) const {
  const std::int64_t dram = spec_.standard.clock_ps;
  return (static_cast<std::int64_t>(cycle) * spec_.clock_ps + dram - 1) / dram;
}
Cycle BankModel::cycle_of(Clock clock) const {
  return static_cast<Cycle>((clock * spec_.standard.clock_ps + spec_.clock_ps - 1) / spec_.clock_ps);
}

void BankModel::issue(DramCommand::Kind kind, Clock clock, const Place& at) {
  ++commands_[kind];
  if (record_ == nullptr) return;
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  record_->push_back({kind, clock, number(at.channel), number(at.rank), number(at.group), number(at.bank), at.row});
}

// Closes every bank of the rank and refreshes it; the rank is ready again after tRFC.
void BankModel::refresh(Rank& rank, const Place& place) {
  const DramStandard& dram = spec_.standard;
  Clock start = rank.refresh;
  for (std::size_t b = 0; b < rank.banks.size(); ++b) {
    Bank& bank = rank.banks[b];
    if (bank.row >= 0) {
      const Clock precharge = std::max(rank.refresh, bank.precharge);
      issue(DramCommand::Kind::precharge, precharge,
            {place.channel, place.rank, b >> bank_log2_, b & ((std::size_t{1} << bank_log2_) - 1), bank.row});
      bank.row = -1;
      bank.activate = precharge + dram.rp;
    }
    start = std::max(start, bank.activate);
  }
  issue(DramCommand::Kind::refresh, start, place);
  for (Bank& bank : rank.banks) bank.activate = start + dram.rfc;
  rank.refreshed = start + dram.rfc;
  rank.refresh += dram.refi;
}

// A rank is refreshed whether it is used or not.
std::optional<DramCommands> BankModel::finish(Cycle done) {
  for (std::size_t c = 0; c < channels_.size(); ++c)
    for (std::size_t r = 0; r < channels_[c].ranks.size(); ++r)
      for (Rank& rank = channels_[c].ranks[r]; rank.refresh <= clock_of(done);)
        refresh(rank, {.channel = c, .rank = r, .group = 0, .bank = 0, .row = 0});
  return commands_;
}

BankModel::Way BankModel::access(std::uint64_t address, Direction direction, Clock arrival) {
  const DramStandard& dram = spec_.standard;
  const Place at = place(address);
  Channel& channel = channels_[at.channel];
  Rank& rank = channel.ranks[at.rank];
  Group& group = rank.groups[at.group];
  Bank& bank = rank.banks[at.group << bank_log2_ | at.bank];

  while (rank.refresh <= std::max(arrival, channel.column)) refresh(rank, at);

  if (bank.row == at.row) {
    ++statistics_.row_hits;
  } else {
    Clock activate = std::max(arrival, bank.activate);
    if (bank.row >= 0) {
      ++statistics_.row_conflicts;
      const Clock precharge = std::max(arrival, bank.precharge);
      issue(DramCommand::Kind::precharge, precharge, {at.channel, at.rank, at.group, at.bank, bank.row});
      activate = precharge + dram.rp;
    } else {
      ++statistics_.row_misses;
    }
    activate = std::max({activate, rank.activate, group.activate, rank.activates[rank.next_activate] + dram.faw});
    issue(DramCommand::Kind::activate, activate, at);
    rank.activates[rank.next_activate] = activate;
    rank.next_activate = (rank.next_activate + 1) % rank.activates.size();
    rank.activate = activate + dram.rrd_s;
    group.activate = activate + dram.rrd_l;
    bank.row = at.row;
    bank.column = activate + dram.rcd;
    bank.precharge = activate + dram.ras;
  }

  const bool read = direction == Direction::read;
  const Clock latency = read ? dram.cl : dram.cwl;
  const Clock open = bank.column;
  Clock column = std::max({arrival, bank.column, channel.column, group.column});
  column = read ? std::max({column, rank.read_after_write, group.read_after_write})
                : std::max(column, channel.write_after_read);
  const bool same_rank = channel.last_rank < 0 || channel.last_rank == static_cast<std::int64_t>(at.rank);
  column = std::max(column, channel.last_data_end + (same_rank ? 0 : dram.rtrs) - latency);
  issue(read ? DramCommand::Kind::read : DramCommand::Kind::write, column, at);

  const Clock end = column + latency + dram.access_clocks;
  channel.column = column + dram.ccd_s;
  group.column = column + dram.ccd_l;
  channel.last_rank = static_cast<std::int64_t>(at.rank);
  channel.last_data_end = end;
  if (read) {
    channel.write_after_read = end + dram.rtrs - dram.cwl;
    bank.precharge = std::max(bank.precharge, column + dram.rtp);
  } else {
    rank.read_after_write = end + dram.wtr_s;
    group.read_after_write = end + dram.wtr_l;
    bank.precharge = std::max(bank.precharge, end + dram.wr);
  }
  return {.arrival = arrival, .refreshed = rank.refreshed, .open = open, .end = end};
}

Answer BankModel::accept(Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) {
  const auto way = static_cast<std::size_t>(direction);
  Port& port = ports_[port_];
  if (const Cycle room = port.outstanding[way].room_from(cycle); room > cycle) return {false, room};

  const bool read = direction == Direction::read;
  const auto controller = static_cast<Cycle>(spec_.controller_cycles);
  const std::uint64_t end_address = address + beats * bus_bytes_;
  const auto size = static_cast<std::uint64_t>(spec_.standard.access_bytes);
  // Read: the earliest cycle of the first beat for which all following beats are ready in time. Write: the cycle in
  // which all bytes are written.
  Cycle result = read ? std::max(cycle + 1, port.last[way] + 1) : cycle + beats + 1;
  for (std::uint64_t at = address & ~(size - 1); at < end_address; at += size) {
    // The beats that overlap this access.
    const std::uint64_t first = at <= address ? 0 : (at - address) / bus_bytes_;
    const std::uint64_t last = (std::min(at + size, end_address) - 1 - address) / bus_bytes_;
    const Way made = access(at, direction, clock_of(cycle + controller + (read ? 0 : 2 + last)));
    const Cycle data = cycle_of(made.end) + controller;
    // If several accesses form a beat, the last one determines its time: it updates the same beat later.
    const Cycle possible = read ? data - std::min(data, Cycle{first}) : data;
    if (possible >= result || at <= address) port.explained[way].access = made;
    result = std::max(result, possible);
  }
  (read ? statistics_.read_bursts : statistics_.write_bursts) += 1;
  (read ? statistics_.read_bytes : statistics_.write_bytes) += beats * bus_bytes_;
  if (!read) result = std::max(result, port.last[way] + 1);
  port.explained[way].cycle = cycle;
  port.explained[way].answer = result;
  port.last[way] = read ? result + beats - 1 : result;
  port.outstanding[way].add(port.last[way]);
  return {true, result};
}

// The delay of the access that determined the response: latency is that of an idle memory with the row open, row_miss
// and refresh are the waits of its column command for them, and the rest is due to earlier accesses, including those of
// the same burst.
MemorySplit BankModel::explain(Direction direction) const {
  const Last& last = ports_[port_].explained[static_cast<std::size_t>(direction)];
  const DramStandard& dram = spec_.standard;
  const auto controller = static_cast<Cycle>(spec_.controller_cycles);
  const Clock arrival = clock_of(last.cycle + controller);
  const Cycle idle =
      cycle_of(arrival + (direction == Direction::read ? dram.cl : dram.cwl) + dram.access_clocks) + controller;
  const Clock refreshed = std::max(last.access.arrival, last.access.refreshed),
              open = std::max(refreshed, last.access.open);

  MemorySplit split;
  Cycle left = last.answer - last.cycle;
  const auto take = [&](MemoryCause cause, Cycle cycles) {
    split[cause] = std::min(left, cycles);
    left -= split[cause];
  };
  take(MemoryCause::latency, idle - last.cycle);
  take(MemoryCause::refresh, cycle_of(refreshed) - cycle_of(last.access.arrival));
  take(MemoryCause::row_miss, cycle_of(open) - cycle_of(refreshed));
  take(MemoryCause::bandwidth, left);
  return split;
}

}  // namespace dovetail::simulator
