// The timing core: the issue, start and end cycle of every instruction of a launch by docs/reference/timing.md, at a
// cost that grows with instructions and bursts, not with cycles. Everything except the memory port is a system of
// «latest of» equations, which the units solve as soon as their inputs are known; only grants and requests to the
// memory are processed in time order. docs/explanation/cycle-simulator.md explains why that is exact.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/counters.h"
#include "simulator/cycle/board.h"
#include "simulator/cycle/compute.h"
#include "simulator/cycle/fetch.h"
#include "simulator/cycle/load.h"
#include "simulator/cycle/store.h"
#include "simulator/functional/routes.h"
#include "simulator/memory/memory.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

class Machine {
 public:
  // `memory` outlives the machine. SharedMachines lets several machines share one memory.
  Machine(const isa::HardwareConfig& config, Memory& memory);
  Machine(const Machine&) = delete;

  struct Launch {
    std::span<const isa::Instruction> program;
    std::size_t first_index = 0;          // number in the program, for events
    std::uint64_t program_address = 0;    // address of the launch's first instruction
    std::span<const isa::Uop> uops = {};  // UOP memory, kept up to date by on_start
    // Called once per instruction, in an order that queues and tokens respect. False stops the launch.
    std::function<bool(std::size_t)> on_start = {};
    bool trace = false;
  };
  // Preconditions: every instruction is legal by its fields, or on_start stops at it. No event occurs before step().
  void begin(Launch launch);

  // The cycle of the next event at the memory port; kUnknown: there are no more events, the launch is done, stuck or
  // stopped.
  Cycle next() const;
  void step(Cycle cycle);  // precondition: cycle == next() != kUnknown
  // The cycle of the next request to the memory; kUnknown: there is none in that direction, or not yet, or the launch
  // was stopped. Within a cycle step() requests a read, then a write, then processes events that do not involve the
  // memory.
  Cycle asks_from(Direction direction) const;

  // The instruction of the launch whose burst is being requested; for fetch the first one that the burst contains.
  // Precondition: within a call of Memory::accept.
  std::size_t at_port(Direction direction) const;

  bool done() const { return board_.ended == launch_.program.size() && !board_.stopped; }
  bool stopped() const { return board_.stopped; }
  std::uint64_t tokens_left(isa::TokenFifo fifo) const { return board_.tokens[isa::index(fifo)].held(); }
  bool tokens_left() const;
  // Adds the counters that only the machine knows: bursts, beats, and the operands that ALU reads.
  void count(Counters& counters) const;
  // If the launch is stuck, only the events, with 0 for those that never happened. Preconditions: next() == kUnknown,
  // !stopped(), once per launch.
  LaunchTrace result();

 private:
  struct Address {  // the AR register
    ReadPort* port = nullptr;
    Part part = Part::fetch;
    Burst burst;
    std::size_t instruction = 0;  // unused for fetch
    Cycle from = 0;               // the next attempt
    Cycle shown = 0;              // ARVALID
  };
  void settle();
  void read();
  void write();
  void grant();
  // Like asks_from(), for a machine that was not stopped.
  Cycle reads_from() const { return address_.port != nullptr ? address_.from : kUnknown; }
  Cycle writes_from() const { return write_from_ != kUnknown ? write_from_ : store_.writes_from(); }
  Cycle grants_from() const;

  Memory& memory_;
  isa::HardwareConfig config_;
  Routes routes_;
  Board board_;
  Fetch fetch_;
  LoadUnit load_;
  ComputeUnit compute_;
  StoreUnit store_;
  Launch launch_;
  std::vector<TraceEvent> events_;
  MemoryWaits waits_;
  Address address_;
  Cycle arbiter_free_ = 0;
  Cycle write_shown_ = kUnknown;  // AWVALID of the burst at AW; kUnknown: not refused yet
  Cycle write_from_ = kUnknown;   // the next attempt of the burst at AW; kUnknown: given by the store unit
};

}  // namespace dovetail::simulator
