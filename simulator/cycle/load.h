// The load unit (docs/reference/timing.md, section 8): starts instructions ahead of the drainer, which processes them
// one after the other.
#pragma once

#include <cstdint>

#include "simulator/cycle/board.h"
#include "simulator/cycle/read_port.h"
#include "simulator/cycle/window.h"

namespace dovetail::simulator {

// Processes the slots of one transfer.
class Drain {
 public:
  // The first slot is not before `first_slot`.
  void begin(Cycle first_slot, bool has_bursts, std::uint64_t tail_pads);
  // False: a burst has not been granted yet. True: all slots are complete. Waits for late beats are attributed to
  // `instruction` of the unit.
  bool advance(ReadPort& port, Board& board, isa::Queue unit, std::size_t instruction);

  bool has_slots() const { return slots_ != 0; }
  Cycle next_slot() const { return next_slot_; }
  std::uint64_t slots() const { return slots_; }
  std::uint64_t waited() const { return waited_; }  // cycles spent waiting for beats

 private:
  Cycle next_slot_ = 0;
  bool bursts_left_ = false;
  std::uint64_t tail_pads_ = 0, slots_ = 0, waited_ = 0;
};

class LoadUnit {
 public:
  explicit LoadUnit(Board& board) : board_(board) {}

  void clear();
  ReadPort& port() { return port_; }
  void advance();
  void finish(Cycle cycles);

 private:
  struct Waiting {
    Started started;
    bool has_bursts = false;
    std::uint64_t tail_pads = 0;
  };
  bool start();
  bool drain();

  Board& board_;
  ReadPort port_;
  Window<Waiting> waiting_;  // started, and not ended
  Window<Cycle> takes_;
  bool draining_ = false;
  Drain drain_;
  Cycle last_end_ = 0;
  Cycle counted_ = 0;  // all cycles before this one are classified
};

}  // namespace dovetail::simulator
