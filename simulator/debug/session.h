// A program that can be stopped anywhere in its run. Instructions are executed whole, one at a time, in the order and
// at the cycles in which the accelerator starts them: the times are the cycle simulator's, the values the functional
// simulator's. docs/howto/debugging.md describes the consequences for a program with races.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "isa/accelerators.h"
#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify/clock.h"
#include "simulator/debug/touched.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"
#include "simulator/sram_reader.h"

namespace dovetail::simulator {

class DebugSession {
 public:
  // Precondition: validate(config); launches are within the program, which with the configuration outlives this object.
  DebugSession(const isa::HardwareConfig& config, std::span<const isa::Instruction> program,
               std::vector<isa::Launch> launches, Dram dram, const EngineOptions& options);

  std::size_t launch() const { return launch_; }  // the running launch, from 0
  bool at_end() const { return launch_ == launches_.size(); }
  // The cycle of the running launch in which the last instruction has started; 0 before the first. nullopt: the timing
  // engine rejected the launch, and instructions run in program order.
  std::optional<std::uint64_t> cycle() const;
  // The index, in the program, of the instruction that starts next; nullopt if the launch is stuck (deadlock).
  std::optional<std::size_t> next() const;

  // Executes the next instruction, and moves to the next launch at the end of one. Precondition: !at_end(). Error: it
  // cannot be executed, or no instruction can start any more; the state of the session then does not change.
  Result<void> step();
  // Continues within the running launch until the next start is after this cycle, or until `goes_on`, called before
  // each instruction, returns false; cycle() is then the last start.
  Result<void> run_to_cycle(std::uint64_t cycle, const std::function<bool()>& goes_on = nullptr);

  // The counters of the instructions executed so far, from the functional simulator.
  const Counters& counters() const { return counters_; }
  // All cycles of the running launch; nullopt if the launch is stuck or has no times.
  std::optional<std::uint64_t> launch_cycles() const;
  const Dram& dram() const { return dram_; }
  const SramReader& sram() const;
  Touched touched(std::size_t instruction) const;

  // State at the current cycle; unknown without times.
  struct QueueState {
    std::vector<std::size_t> waiting;  // issued and not started, oldest first
    std::vector<std::size_t> running;  // started and not ended
  };
  std::optional<std::array<QueueState, 3>> queues() const;     // by isa::Queue
  std::optional<std::array<std::uint64_t, 4>> tokens() const;  // by isa::TokenFifo
  const TraceEvent* event(std::size_t instruction) const;      // in the running launch; null: unknown
  // Why the running launch is stuck, according to the timing engine; empty: it ends.
  const Diagnostics& standstill() const { return standstill_; }

 private:
  void begin_launch();
  std::uint64_t now() const { return cycle_; }

  const isa::HardwareConfig& config_;
  std::span<const isa::Instruction> program_;
  std::vector<isa::Launch> launches_;
  Dram dram_;
  std::unique_ptr<Simulator> values_, times_;
  std::size_t launch_ = 0;
  std::optional<LaunchTrace> trace_;
  std::vector<std::size_t> order_;  // instructions of the launch, in the order of their starts
  std::size_t done_ = 0;
  std::uint64_t cycle_ = 0;
  Counters counters_;
  Diagnostics standstill_;
};

}  // namespace dovetail::simulator
