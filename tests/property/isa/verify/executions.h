// All executions of a launch, one move at a time: the units of docs/reference/timing.md, sections 6 to 10, without
// their times. Written from that page, and sharing only the names of queues and FIFOs with isa/verify: bursts are
// granted, beats arrive and leave, the drainer takes loads one by one. For small launches, whose states are all
// visited.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify/token_use.h"
#include "tests/generator/random.h"

namespace dovetail::test {

enum class Depths : std::uint8_t { configured, unlimited };

class LaunchModel {
 public:
  // The progress of each queue, in instructions from the first.
  struct State {
    std::size_t fetched = 0;  // instructions of the launch
    std::array<std::size_t, isa::kQueues> started{}, accessed{}, ended{};
    std::size_t taken = 0;    // loads, by the drainer
    std::size_t granted = 0;  // bursts of all loads
    std::size_t drained = 0;  // beats of all loads
    auto operator<=>(const State&) const = default;
  };

  LaunchModel(const isa::HardwareConfig& config, std::span<const isa::Instruction> launch, Depths depths);

  std::size_t size() const { return launch_.size(); }
  // With unlimited depths all instructions are fetched: fetch never waits then, and never delays another unit.
  State initial() const { return {.fetched = commands_ == kUnlimited ? size() : 0}; }
  // The states that each possible move leads to.
  void successors(const State& state, std::vector<State>& next) const;
  bool complete(const State& state) const;
  std::size_t tokens(const State& state, isa::TokenFifo fifo) const;
  // The first instruction that has not ended. Precondition: !complete(state).
  std::size_t oldest(const State& state) const;
  // Whether instruction i has made its accesses.
  bool accessed(const State& state, std::size_t i) const;

 private:
  static constexpr auto kUnlimited = std::numeric_limits<std::size_t>::max();
  enum class Kind : std::uint8_t { load, serial, gemm, alu, alu_long, store };

  std::size_t waiting(const State& state, std::size_t queue) const;
  bool has_tokens(const State& state, std::size_t i) const;
  bool has_room(const State& state, std::size_t i) const;
  bool takes(const State& state, std::size_t queue) const;

  std::span<const isa::Instruction> launch_;
  std::size_t commands_, tokens_, beats_;  // depths
  std::size_t load_waiting_, in_flight_;
  std::vector<Kind> kinds_;
  std::array<std::vector<std::size_t>, isa::kQueues> order_;
  std::vector<std::size_t> place_;  // of each instruction in its queue
  std::array<std::vector<std::size_t>, isa::kTokenFifos> pushes_,
      pops_;                                // number of tokens before each place of the queue
  std::vector<std::size_t> bursts_;         // beats of each burst, of all loads
  std::vector<std::size_t> burst_ends_;     // number of bursts up to and including each load
  std::vector<std::size_t> granted_beats_;  // beats of the first k bursts
};

struct Executions {
  std::set<LaunchModel::State> ends;  // states without a possible move
  // [a][b]: in some execution a makes its accesses before b does.
  std::vector<std::vector<bool>> before;
  std::size_t states = 0;
};

// nullopt: more than `most_states`.
std::optional<Executions> explore(const LaunchModel& model, std::size_t most_states = 1u << 20);

// One random execution, move by move, to its end.
LaunchModel::State walk(const LaunchModel& model, Random& random);

}  // namespace dovetail::test
