// The rule of docs/reference/timing.md, section 7, «Without time», as code: which instructions of a launch may start
// and which may end. Verifier, functional simulator and the reports of every engine follow it here; RTL and cycle
// simulator obey the same rule with its times.
//
// Three command queues, their units, four token FIFOs, all of finite depth. The head of a queue starts when its tokens
// have arrived and its unit accepts it in addition to the instructions in flight; the oldest instruction in flight ends
// when the FIFOs have room for all tokens that it pushes. Instructions end in order; all tokens of a start or an end
// move at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/spec/timing.h"
#include "isa/verify/token_use.h"

namespace dovetail::isa {

// The kind of an instruction of the compute queue (docs/reference/timing.md, section 9): only those of one kind
// overlap.
enum class ComputeKind : std::uint8_t { serial, gemm, alu, alu_long };
ComputeKind compute_kind(const Instruction& instruction);

// The finite resources of a launch. By default they are unlimited.
struct QueueDepths {
  static constexpr auto kUnlimited = std::numeric_limits<std::size_t>::max();
  std::size_t commands = kUnlimited;
  std::size_t tokens = kUnlimited;
  // The load unit's beat buffer limits how far loads run ahead of one that waits to push.
  std::uint64_t load_beats = kUnlimited;
  std::uint64_t bus_bytes = 1, inp_bytes = 1, wgt_bytes = 1, wgt4_bytes = 1;
};
QueueDepths queue_depths(const HardwareConfig& config);

class CommandQueues {
 public:
  explicit CommandQueues(QueueDepths depths);

  // Empties all queues. `launch` outlives the launch; instructions are indices into it.
  void begin(std::span<const Instruction> launch);
  // Raises the depths while the launch runs. Precondition: no depth decreases.
  void set_depths(QueueDepths depths) { depths_ = depths; }

  bool has_room(Queue queue) const { return unit(queue).waiting < depths_.commands; }
  // Precondition: has_room(use.queue).
  void fetch(std::size_t instruction, TokenUse use);
  // The head of the queue, if it may start now.
  std::optional<std::size_t> ready(Queue queue) const;
  // Removes the head and pops its tokens. Precondition: ready(queue).
  void start(Queue queue);
  // Ends the oldest instruction in flight, if the FIFOs have room for its tokens. Precondition: it has been executed.
  std::optional<std::size_t> end(Queue queue);

  // fetch, start and end in one call, for the common case without stalls. False: the instruction would stall, and
  // nothing has changed.
  bool pass(TokenUse use);

  bool idle() const { return unfinished_ == 0; }  // no instruction waits or is in flight
  std::size_t tokens(TokenFifo fifo) const { return tokens_[index(fifo)]; }
  std::size_t waiting(Queue queue) const { return unit(queue).waiting; }
  std::size_t in_flight(Queue queue) const { return unit(queue).flying; }
  std::optional<std::size_t> head(Queue queue) const;    // the oldest waiting instruction
  std::optional<std::size_t> oldest(Queue queue) const;  // the oldest instruction in flight

 private:
  struct Command {
    std::size_t instruction = 0;
    TokenUse use;
  };
  static constexpr std::size_t kMostInFlight =
      static_cast<std::size_t>(std::max(spec::kLoadWaiting.value + 1, spec::kComputeInFlight.value));
  struct Unit {
    std::vector<Command> ring;  // waiting instructions; grows up to the queue's depth
    std::size_t first = 0, waiting = 0;
    std::array<Command, kMostInFlight> flight;  // a ring too
    std::size_t first_flying = 0, flying = 0;
    const Command& head() const { return ring[first]; }
    const Command& in_flight(std::size_t k) const { return flight[(first_flying + k) % kMostInFlight]; }
  };

  Unit& unit(Queue queue) { return units_[index(queue)]; }
  const Unit& unit(Queue queue) const { return units_[index(queue)]; }
  bool takes_head(Queue queue) const;
  void grow(Unit& unit);
  bool can_pop(TokenUse use) const;
  bool can_push(TokenUse use) const;
  void pop(TokenUse use);
  void push(TokenUse use);

  QueueDepths depths_;
  std::span<const Instruction> launch_;
  std::array<Unit, kQueues> units_;
  std::array<std::size_t, kTokenFifos> tokens_{};
  std::size_t unfinished_ = 0;
};

// Inline: called millions of times per second.

inline bool CommandQueues::can_pop(TokenUse use) const {
  for (std::size_t fifo = 0; fifo < kTokenFifos; ++fifo)
    if ((use.pops >> fifo & 1) != 0 && tokens_[fifo] == 0) return false;
  return true;
}

inline bool CommandQueues::can_push(TokenUse use) const {
  for (std::size_t fifo = 0; fifo < kTokenFifos; ++fifo)
    if ((use.pushes >> fifo & 1) != 0 && tokens_[fifo] >= depths_.tokens) return false;
  return true;
}

inline void CommandQueues::pop(TokenUse use) {
  for (std::size_t fifo = 0; fifo < kTokenFifos; ++fifo) tokens_[fifo] -= use.pops >> fifo & 1;
}

inline void CommandQueues::push(TokenUse use) {
  for (std::size_t fifo = 0; fifo < kTokenFifos; ++fifo) tokens_[fifo] += use.pushes >> fifo & 1;
}

inline bool CommandQueues::pass(TokenUse use) {
  if (unfinished_ != 0) return false;
  if ((use.pops | use.pushes) == 0) return true;
  if (!can_pop(use) || !can_push(use)) return false;
  pop(use);
  push(use);
  return true;
}

inline void CommandQueues::fetch(std::size_t instruction, TokenUse use) {
  Unit& at = unit(use.queue);
  if (at.waiting == at.ring.size()) grow(at);
  at.ring[(at.first + at.waiting) % at.ring.size()] = {instruction, use};
  ++at.waiting;
  ++unfinished_;
}

inline std::optional<std::size_t> CommandQueues::ready(Queue queue) const {
  const Unit& at = unit(queue);
  if (at.waiting == 0 || !can_pop(at.head().use) || (at.flying != 0 && !takes_head(queue))) return std::nullopt;
  return at.head().instruction;
}

inline void CommandQueues::start(Queue queue) {
  Unit& at = unit(queue);
  const Command& head = at.head();
  pop(head.use);
  at.flight[(at.first_flying + at.flying) % kMostInFlight] = head;
  ++at.flying;
  at.first = (at.first + 1) % at.ring.size();
  --at.waiting;
}

inline std::optional<std::size_t> CommandQueues::end(Queue queue) {
  Unit& at = unit(queue);
  if (at.flying == 0 || !can_push(at.in_flight(0).use)) return std::nullopt;
  const Command& oldest = at.in_flight(0);
  push(oldest.use);
  at.first_flying = (at.first_flying + 1) % kMostInFlight;
  --at.flying;
  --unfinished_;
  return oldest.instruction;
}

}  // namespace dovetail::isa
