// Arbitration between several requesters that share one memory (docs/reference/systemc.md, «Sharing a memory»):
// round-robin, separately in each direction and at each of its ports. Used by both the SystemC platform and the cycle
// engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/memory/memory.h"

namespace dovetail::simulator {

class FairTurns {
 public:
  explicit FairTurns(Memory& memory) : memory_(memory), turns_(memory.ports()) {}  // the memory outlives this object

  // Resets: nothing has been served. Requesters are numbered from 0; number k uses port k modulo the memory's ports.
  void begin(int requesters);

  // Sorts the requesters of one cycle into the order in which accept() must be called.
  void sort(Direction direction, std::vector<int>& asking) const;

  // Like Memory::accept, for one of several requesters: a refused one has priority when it requests again, and until
  // then the others of its port and direction are refused too. Must be called in cycle order, reads before writes
  // within a cycle, and in the order of sort() within a cycle and direction.
  Answer accept(int requester, Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats);

 private:
  // Who is next at a port in a direction: the requester that was refused, else the one after the last one served.
  struct Turn {
    int requester = 0;
    bool refused = false;  // the memory has recorded its request: no other may come between
    Cycle until = 0;       // the cycle in which it may succeed
  };

  Memory& memory_;
  int requesters_ = 1;
  std::vector<std::array<Turn, 2>> turns_;  // by port
  std::array<int, 2> first_{};              // the requester with which each direction begins in the next cycle
};

}  // namespace dovetail::simulator
