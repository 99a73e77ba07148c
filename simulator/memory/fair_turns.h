// Who is served next where several requesters share one memory (docs/reference/systemc.md, «Sharing a memory»): in
// turn, in each direction by itself. The one rule of the SystemC platform and of the cycle engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/memory/memory.h"

namespace dovetail::simulator {

class FairTurns {
 public:
  explicit FairTurns(Memory& memory) : memory_(memory) {}  // which outlives it

  // Nothing has been served. Requesters are numbered from 0 on.
  void begin(int requesters);

  // Brings those that ask in one cycle into the order in which accept() is to be called.
  void sort(Direction direction, std::vector<int>& asking) const;

  // As Memory::accept, for one of several: who is refused comes first when it asks again, and until then the others in
  // its direction are refused too. To be called in cycle order, reads before writes within a cycle, and of one cycle
  // and direction in the order of sort().
  Answer accept(int requester, Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats);

 private:
  // First the one that was refused, else the one after the last served.
  struct Turn {
    int requester = 0;
    bool refused = false;  // the memory knows its request: no other may come between
    Cycle until = 0;       // then it may succeed
  };

  Memory& memory_;
  int requesters_ = 1;
  std::array<Turn, 2> turns_;
};

}  // namespace dovetail::simulator
