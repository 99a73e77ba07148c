// Several machines on one memory, stepped together in time order: they affect each other only through the memory's
// response times. The arbitration is that of the SystemC platform (simulator/memory/fair_turns.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/accelerators.h"
#include "simulator/cycle/machine.h"
#include "simulator/memory/fair_turns.h"

namespace dovetail::simulator {

class SharedMachines {
 public:
  // `memory` outlives them. Preconditions: count > 0; each of them has a configuration.
  SharedMachines(const isa::AcceleratorConfigs& configs, Memory& memory, std::size_t count);

  std::size_t size() const { return nodes_.size(); }
  Machine& operator[](std::size_t index) { return nodes_[index]->machine; }
  const Machine& operator[](std::size_t index) const { return nodes_[index]->machine; }

  // Call before launches begin (Machine::begin()) on these machines; the others rest. Addresses of machine k are offset
  // by k windows.
  void begin(std::uint64_t window_bytes, std::vector<std::size_t> running);
  // Like next() and step() of one machine: kUnknown if no machine can continue. step() processes all events of the
  // cycle.
  Cycle next() const;
  void step(Cycle cycle);

 private:
  class Port final : public Memory {
   public:
    Port(SharedMachines& owner, int number) : owner_(owner), number_(number) {}
    Answer accept(Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) override {
      return owner_.turns_.accept(number_, cycle, direction,
                                  address + static_cast<std::uint64_t>(number_) * owner_.window_bytes_, beats);
    }
    // Called only right after the acceptance, when the direction's last burst is this port's.
    MemorySplit explain(Direction direction) const override { return owner_.memory_.explain(direction); }
    void reset() override {}
    std::optional<DramCommands> finish(Cycle) override {
      return std::nullopt;
    }  // the memory does not belong to the port
    MemoryStatistics statistics() const override { return {}; }

   private:
    SharedMachines& owner_;
    int number_;
  };
  struct Node {
    Node(SharedMachines& owner, const isa::HardwareConfig& config, int number)
        : port(owner, number), machine(config, port) {}
    Port port;
    Machine machine;
  };

  Memory& memory_;
  FairTurns turns_;
  std::uint64_t window_bytes_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::size_t> running_;
  std::vector<int> asking_;
};

}  // namespace dovetail::simulator
