#include "simulator/memory/ideal.h"

#include <algorithm>

namespace dovetail::simulator {

IdealModel::IdealModel(const IdealMemory& spec, std::int64_t bus_bytes)
    : latency_(static_cast<Cycle>(spec.latency)),
      bus_bytes_(static_cast<Cycle>(bus_bytes)),
      byte_parts_(static_cast<Cycle>(spec.bytes_per_cycle.cycles)),
      parts_(static_cast<Cycle>(spec.bytes_per_cycle.is_bus() ? bus_bytes : spec.bytes_per_cycle.bytes)),
      whole_cycles_(spec.bytes_per_cycle.is_whole()),
      ports_(static_cast<std::size_t>(spec.ports),
             {Way{Outstanding(spec.outstanding)}, Way{Outstanding(spec.outstanding)}}) {}

void IdealModel::reset() {
  for (auto& ways : ports_)
    for (Way& way : ways) {
      way.outstanding.clear();
      way.free = way.part = way.last = 0;
    }
  port_ = 0;
}

Answer IdealModel::accept(Cycle cycle, Direction direction, std::uint64_t, std::uint32_t beats) {
  if (const Cycle room = room_from(cycle, direction); room > cycle) return {false, room};
  return take(cycle, direction, beats, 0);
}

Cycle IdealModel::occupy(Way& way, Cycle from, std::uint32_t beats) const {
  if (from > way.free || (from == way.free && way.part == 0)) way.free = from, way.part = 0;
  Cycle parts = std::max(beats * bus_bytes_ * byte_parts_, beats * parts_);
  if (whole_cycles_) parts = (parts + parts_ - 1) / parts_ * parts_;
  parts += way.part;
  way.free += parts / parts_;
  way.part = parts % parts_;
  return way.free + (way.part == 0 ? 0 : 1);
}

// If the data path is slow, a read's first beat is delayed so that the others follow without a gap: the last beat
// leaves when its bytes have arrived.
Answer IdealModel::take(Cycle cycle, Direction direction, std::uint32_t beats, Cycle more_latency) {
  Way& way = this->way(direction);
  const Cycle bytes = beats * bus_bytes_;
  if (direction == Direction::read) {
    ++statistics_.read_bursts;
    statistics_.read_bytes += bytes;
    const Cycle end = occupy(way, cycle + latency_ + more_latency, beats);
    way.last = end - 1;
    way.outstanding.add(way.last);
    way.delay = end - beats - cycle;
    way.alone = latency_ + more_latency;
    return {true, end - beats};
  }
  ++statistics_.write_bursts;
  statistics_.write_bytes += bytes;
  way.last = std::max(occupy(way, cycle + 1, beats) - 1 + latency_ + more_latency, way.last + 1);
  way.outstanding.add(way.last);
  way.delay = way.last - cycle;
  way.alone = latency_ + more_latency;
  return {true, way.last};
}

// For a write, the transfer of its beats counts as bandwidth, too.
MemorySplit IdealModel::explain(Direction direction) const {
  const Way& way = this->way(direction);
  MemorySplit split;
  split[MemoryCause::latency] = way.alone;
  split[MemoryCause::bandwidth] = way.delay - way.alone;
  return split;
}

std::uint64_t PerturbedModel::draw(Direction direction, std::uint64_t salt, std::uint64_t bound) const {
  const Request& request = requests_[port()][static_cast<std::size_t>(direction)];
  // splitmix64's output function over a counter.
  std::uint64_t z = spec_.seed * 0x9e3779b97f4a7c15 +
                    (request.number * 4 + salt * 2 + static_cast<std::uint64_t>(direction) + 1) * 0xd1342543de82ef95;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return (z ^ (z >> 31)) % bound;
}

Answer PerturbedModel::accept(Cycle cycle, Direction direction, std::uint64_t, std::uint32_t beats) {
  Request& request = requests_[port()][static_cast<std::size_t>(direction)];
  if (!request.asked) {
    const std::uint64_t drawn = draw(direction, 0, 2 * (static_cast<std::uint64_t>(spec_.most_refusal) + 1));
    request.asked = true;
    request.from = cycle + drawn / 2 * (drawn % 2);
  }
  if (const Cycle from = std::max(request.from, room_from(cycle, direction)); from > cycle) return {false, from};
  const Cycle more = draw(direction, 1, static_cast<std::uint64_t>(spec_.most_latency) + 1);
  ++request.number;
  request.asked = false;
  return take(cycle, direction, beats, more);
}

void PerturbedModel::reset() {
  IdealModel::reset();
  requests_.assign(ports(), {});
}

}  // namespace dovetail::simulator
