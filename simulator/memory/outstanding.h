// Bursts of one direction that are accepted and not yet complete: a ring of their completion cycles.
#pragma once

#include <cstddef>
#include <vector>

#include "simulator/memory/memory.h"

namespace dovetail::simulator {

class Outstanding {
 public:
  explicit Outstanding(std::int64_t most) : done_(static_cast<std::size_t>(most), 0) {}

  // The earliest cycle from `cycle` on with room for one more.
  Cycle room_from(Cycle cycle) const { return done_[next_] == 0 || done_[next_] < cycle ? cycle : done_[next_] + 1; }
  // Completions ascend.
  void add(Cycle done) {
    done_[next_] = done;
    next_ = next_ + 1 == done_.size() ? 0 : next_ + 1;
  }
  void clear() {
    done_.assign(done_.size(), 0);
    next_ = 0;
  }

 private:
  std::vector<Cycle> done_;  // 0: free; the oldest is the next to be overwritten
  std::size_t next_ = 0;
};

}  // namespace dovetail::simulator
