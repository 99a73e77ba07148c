// Vector clocks with one entry per queue. As every queue is in-order, the set of instructions known to be complete is
// three counts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/token_machine.h"

namespace dovetail::isa {

// Counts continue from launch to launch: the barrier between two launches raises every entry, so nothing is cleared. 0
// is "before the first instruction".
using Position = std::uint32_t;
using Clock = std::array<Position, kQueues>;

inline void join(Clock& clock, const Clock& other) {
  for (std::size_t q = 0; q < kQueues; ++q) clock[q] = std::max(clock[q], other[q]);
}

// An instruction as seen by the shadow memories: its position, and the instructions complete before it starts, in every
// execution.
struct Event {
  Queue queue = Queue::compute;
  Position position = 0;  // 1-based
  Clock clock{};
};

// An earlier event of the pass that accessed the same location and is not ordered before the current one.
struct Conflict {
  Queue queue = Queue::compute;
  Position position = 0;
  bool possible = false;
  std::vector<Extent> extents;
};

// Collects conflicting locations in any order, and returns one Conflict per earlier event, with merged extents.
class ConflictList {
 public:
  void add(Queue queue, Position position, bool possible, Extent extent) {
    raw_.push_back({queue, position, possible, extent});
  }
  bool empty() const { return raw_.empty(); }
  std::vector<Conflict> take();

 private:
  struct Raw {
    Queue queue;
    Position position;
    bool possible;
    Extent extent;
    auto operator<=>(const Raw&) const = default;
  };
  std::vector<Raw> raw_;
};

}  // namespace dovetail::isa
