// The three command queues, their units and the four token FIFOs of one launch, by the rules that
// isa/verify/token_machine.h states: an instruction starts when its unit is idle and all tokens it pops are there, and
// its unit stays busy until all its pushes have room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "isa/instruction.h"
#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

class CommandQueues {
 public:
  explicit CommandQueues(isa::QueueDepths depths);

  void clear();

  bool has_room(isa::Queue queue) const { return unit(queue).count < depths_.commands; }
  // Precondition: has_room(use.queue).
  void fetch(std::size_t instruction, isa::TokenUse use);

  // The next instruction of the queue, if it may start now.
  std::optional<std::size_t> ready(isa::Queue queue) const;
  // Takes the ready instruction out and pops its tokens. Precondition: ready(queue).
  void start(isa::Queue queue);
  // The started instruction is done. False: a FIFO is full, and the unit stays busy until push_blocked() succeeds.
  bool finish(isa::Queue queue);
  // Tries again to push the tokens of a finished instruction. True: it has pushed.
  bool push_blocked(isa::Queue queue);

  // fetch, start and finish in one, for the common case that nothing is in the way. False: it is, and nothing has
  // changed.
  bool pass(isa::TokenUse use);

  bool idle() const { return waiting_ == 0; }  // no instruction waits in a queue or for a push
  bool tokens_left() const;

  // Reports. `program` is the launch, `first_index` the number of its first instruction; `next` the first that is not
  // fetched.
  Diagnostic deadlock(std::span<const isa::Instruction> program, std::size_t first_index, std::size_t next) const;
  Diagnostic leftover_tokens(std::size_t first_index, std::size_t size) const;
  // "queue heads: ...; tokens: ...", in one line.
  std::string state(std::span<const isa::Instruction> program, std::size_t first_index) const;

 private:
  struct Command {
    std::size_t instruction = 0;
    isa::TokenUse use;
  };
  struct Unit {
    std::vector<Command> ring;  // grows up to the queue's depth
    std::size_t head = 0, count = 0;
    Command running;
    bool blocked = false;  // `running` is done, its pushes have no room
  };

  Unit& unit(isa::Queue queue) { return units_[isa::index(queue)]; }
  const Unit& unit(isa::Queue queue) const { return units_[isa::index(queue)]; }
  bool can_pop(isa::TokenUse use) const;
  bool can_push(isa::TokenUse use) const;
  void pop(isa::TokenUse use);
  void push(isa::TokenUse use);
  std::string tokens() const;

  isa::QueueDepths depths_;
  std::array<Unit, isa::kQueues> units_;
  std::array<std::size_t, isa::kTokenFifos> tokens_{};
  std::size_t waiting_ = 0;
};

// Inline: millions of times a second.

inline bool CommandQueues::can_pop(isa::TokenUse use) const {
  for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo)
    if ((use.pops >> fifo & 1) != 0 && tokens_[fifo] == 0) return false;
  return true;
}

inline bool CommandQueues::can_push(isa::TokenUse use) const {
  for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo)
    if ((use.pushes >> fifo & 1) != 0 && tokens_[fifo] == depths_.tokens) return false;
  return true;
}

inline void CommandQueues::pop(isa::TokenUse use) {
  for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo) tokens_[fifo] -= use.pops >> fifo & 1;
}

inline void CommandQueues::push(isa::TokenUse use) {
  for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo) tokens_[fifo] += use.pushes >> fifo & 1;
}

inline bool CommandQueues::pass(isa::TokenUse use) {
  if (waiting_ != 0) return false;
  if ((use.pops | use.pushes) == 0) return true;
  if (!can_pop(use) || !can_push(use)) return false;
  pop(use);
  push(use);
  return true;
}

}  // namespace dovetail::simulator
