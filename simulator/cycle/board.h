// State shared by the units of one launch: the program, the queues and token FIFOs between them, and the recorded
// events.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify/token_machine.h"
#include "simulator/counters.h"
#include "simulator/cycle/bursts.h"
#include "simulator/cycle/queues.h"
#include "simulator/functional/routes.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// The parts of the machine whose times depend on each other.
enum class Part : std::uint8_t { load, compute, store, fetch };

struct Board {
  const isa::HardwareConfig& config;
  const Routes& routes;
  BusGeometry bus;

  std::span<const isa::Instruction> program = {};
  // Called once per instruction, in an order that queues and tokens permit, before its times are computed. Returning
  // false stops the launch.
  std::function<bool(std::size_t)> on_start = {};
  std::span<const isa::Uop> uops = {};  // UOP memory, as updated by on_start

  std::array<CommandQueueTimes, isa::kQueues> queues{};
  std::array<TokenFifoTimes, isa::kTokenFifos> tokens{};
  unsigned awake = 0;    // bit per Part: its inputs have changed
  bool stopped = false;  // by on_start
  std::size_t ended = 0;
  std::array<std::size_t, isa::kQueues> last_started{};
  Cycle last_end = 0;

  std::vector<TraceEvent>* events = nullptr;  // one per instruction; nullptr: not requested
  std::array<std::array<std::uint64_t, kUnitClassNames.size()>, 3> classes{};
  MemoryWaits* waits = nullptr;      // nullptr: not requested
  std::array<PortEvents, 4> port{};  // by Part: bursts and beats that the memory has accepted
  std::uint64_t operand_reads = 0;   // reads of ACC by ALU's steps in addition to those of their destinations

  void clear();
  void count_burst(Part part, std::uint64_t beats) {
    PortEvents& events = port[static_cast<std::size_t>(part)];
    ++events.bursts;
    events.beats += beats;
  }
  void wake(Part part) { awake |= 1u << static_cast<unsigned>(part); }
  void wake(isa::Queue queue) { awake |= 1u << static_cast<unsigned>(queue); }
  std::uint64_t& cycles(isa::Queue unit, UnitClass what) {
    return classes[isa::index(unit)][static_cast<std::size_t>(what)];
  }
};

// The instruction at the head of a command queue, and when it may start.
struct Head {
  std::size_t instruction = 0;
  isa::TokenUse use;
  Cycle issue = 0, from = 0;             // the cycle from which it is at the head
  Cycle token_prev = 0, token_next = 0;  // cycles from which its tokens are available; 0: none needed
  Cycle tokens() const { return std::max(token_prev, token_next); }
};

// An instruction between its start and its end.
struct Started {
  std::size_t instruction = 0;
  isa::TokenUse use;
  Cycle from = 0, tokens = 0, start = 0;
};

// False: the queue is empty, or its head's time is not known yet.
bool find_head(const Board& board, isa::Queue queue, Head& head);
// Removes the head and pops its tokens. `cause`: why the instruction started late, if not for fetch or a token.
Started start_head(Board& board, const Head& head, Cycle start, StallCause busy);
// The first cycle in which the FIFOs have room for all tokens that the instruction pushes.
Cycle push_room(const Board& board, isa::TokenUse use);
void end_instruction(Board& board, const Started& started, Cycle end);

// Records that the instruction's unit waited this many cycles for a burst whose delay had these parts. Precondition:
// board.waits.
void count_memory(Board& board, isa::Queue unit, std::size_t instruction, Cycle wait, const MemorySplit& parts);

// Classifies the cycles [begin, started.start] in which the unit was idle: by what its queue's head was waiting for.
void count_waiting(Board& board, const Started& started, Cycle begin);

}  // namespace dovetail::simulator
