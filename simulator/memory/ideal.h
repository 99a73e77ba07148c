// The `ideal` and `perturbed` memories.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "simulator/memory/memory.h"
#include "simulator/memory/outstanding.h"

namespace dovetail::simulator {

class IdealModel : public Memory {
 public:
  IdealModel(const IdealMemory& spec, std::int64_t bus_bytes);

  std::size_t ports() const override { return ports_.size(); }
  void use_port(std::size_t port) override { port_ = port; }
  Answer accept(Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) override;
  MemorySplit explain(Direction direction) const override;
  void reset() override;
  std::optional<DramCommands> finish(Cycle) override { return std::nullopt; }
  MemoryStatistics statistics() const override { return statistics_; }

 protected:
  // Always accepts, with additional latency. Precondition: room_from(cycle, direction) == cycle.
  Answer take(Cycle cycle, Direction direction, std::uint32_t beats, Cycle more_latency);
  Cycle room_from(Cycle cycle, Direction direction) const { return way(direction).outstanding.room_from(cycle); }
  std::size_t port() const { return port_; }

 private:
  struct Way {
    Outstanding outstanding;
    Cycle free = 0, part = 0;    // when the data path is free: a cycle, and a part of it, from 0 to parts_ - 1
    Cycle last = 0;              // the last beat or response so far
    Cycle delay = 0, alone = 0;  // of the last burst: until its response, and the same without earlier bursts
                                 // and at the full width
  };
  Way& way(Direction direction) { return ports_[port_][static_cast<std::size_t>(direction)]; }
  const Way& way(Direction direction) const { return ports_[port_][static_cast<std::size_t>(direction)]; }

  // Occupies the data path from cycle `from` at the earliest; returns the cycle in which its last byte has passed.
  Cycle occupy(Way& way, Cycle from, std::uint32_t beats) const;

  Cycle latency_, bus_bytes_;
  // A byte takes byte_parts_ of the parts_ that a cycle has.
  Cycle byte_parts_, parts_;
  bool whole_cycles_;  // the bursts take whole cycles
  std::vector<std::array<Way, 2>> ports_;
  std::size_t port_ = 0;
  MemoryStatistics statistics_;
};

class PerturbedModel final : public IdealModel {
 public:
  PerturbedModel(const PerturbedMemory& spec, std::int64_t bus_bytes)
      : IdealModel(spec.base, bus_bytes), spec_(spec), requests_(ports()) {}

  Answer accept(Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) override;
  void reset() override;

 private:
  struct Request {
    std::uint64_t number = 0;
    bool asked = false;
    Cycle from = 0;  // not accepted before this cycle
  };
  // A number below `bound`, a function of seed, direction and the request's number.
  std::uint64_t draw(Direction direction, std::uint64_t salt, std::uint64_t bound) const;

  PerturbedMemory spec_;
  std::vector<std::array<Request, 2>> requests_;  // by port
};

}  // namespace dovetail::simulator
