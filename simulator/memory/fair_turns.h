// Arbitration between several requesters that share one memory (docs/reference/systemc.md, «Sharing a memory»):
// round-robin, separately in each direction. Used by both the SystemC platform and the cycle engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/memory/memory.h"

namespace dovetail::simulator {

class FairTurns {
 public:
  explicit FairTurns(Memory& memory) : memory_(memory) {}  // the memory outlives this object

  // Resets: nothing has been served. Requesters are numbered from 0.
  void begin(int requesters);

  // Sorts the requesters of one cycle into the order in which accept() must be called.
  void sort(Direction direction, std::vector<int>& asking) const;

  // Like Memory::accept, for one of several requesters: a refused one has priority when it requests again, and until
  // then the others in its direction are refused too. Must be called in cycle order, reads before writes within a
  // cycle, and in the order of sort() within a cycle and direction.
  Answer accept(int requester, Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats);

 private:
  // Who is next in a direction: the requester that was refused, else the one after the last one served.
  struct Turn {
    int requester = 0;
    bool refused = false;  // the memory has recorded its request: no other may come between
    Cycle until = 0;       // the cycle in which it may succeed
  };

  Memory& memory_;
  int requesters_ = 1;
  std::array<Turn, 2> turns_;
};

}  // namespace dovetail::simulator
