// Fetch (docs/reference/timing.md, section 6).
#pragma once

#include <cstdint>

#include "simulator/cycle/board.h"
#include "simulator/cycle/read_port.h"

namespace dovetail::simulator {

class Fetch {
 public:
  explicit Fetch(Board& board);

  // `program_address`: of the launch's first instruction.
  void clear(std::uint64_t program_address);

  ReadPort& port() { return port_; }
  // Issues the instructions that have arrived and have room in their queues.
  void advance();
  bool done() const { return next_ == board_.program.size(); }
  // Precondition: board.waits.
  void finish(Cycle cycles);

 private:
  bool issue(Cycle slot);

  Board& board_;
  std::uint64_t beats_per_instruction_, instructions_per_beat_;
  ReadPort port_;
  std::size_t next_ = 0;             // the next instruction to be issued
  std::uint64_t beats_of_next_ = 0;  // beats of it already used
  std::uint64_t beat_of_burst_ = 0;
  std::uint64_t slots_of_beat_ = 0;
  Cycle next_slot_ = 0;
  bool counted_burst_ = false;  // the wait for the current burst has been counted
};

}  // namespace dovetail::simulator
