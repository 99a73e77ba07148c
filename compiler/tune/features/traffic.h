// Estimates how many bytes a program moves to and from a cache of a given size, from reuse distances.
#pragma once

#include <vector>

#include "compiler/tune/features/program_facts.h"

namespace dovetail::tune {

struct Traffic {
  double loaded_bytes = 0, stored_bytes = 0;
};

// Registers and memories that the program fills explicitly are not cached. For each access, consider the outermost loop
// whose whole execution touches no more than the cache holds: its bytes are loaded once each time this loop is entered.
class TrafficModel {
 public:
  explicit TrafficModel(const ProgramFacts& facts);

  Traffic past(double cache_bytes) const;
  // Each buffer once: must be moved by any schedule.
  double touched_bytes() const { return touched_bytes_; }

 private:
  struct CachedAccess {
    const AccessFact* access;
    std::vector<double> bytes;  // touched from the loop at each position on; the last: one access
  };

  const ProgramFacts& facts_;
  std::vector<CachedAccess> accesses_;
  std::vector<double> run_bytes_;  // touched by a whole execution of each loop
  double touched_bytes_ = 0;
};

}  // namespace dovetail::tune
