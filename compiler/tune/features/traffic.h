// How many bytes of memory a program moves past a cache of a given size: what reuse distances come to.
#pragma once

#include <vector>

#include "compiler/tune/features/program_facts.h"

namespace dovetail::tune {

struct Traffic {
  double loaded_bytes = 0, stored_bytes = 0;
};

// Registers and memories that the program fills itself are not cached. For each access, the outermost loop whose whole
// run touches no more than the cache holds: what it touches comes in once for each time that this loop is begun.
class TrafficModel {
 public:
  explicit TrafficModel(const ProgramFacts& facts);

  Traffic past(double cache_bytes) const;
  // Every buffer once: what has to move whatever the schedule.
  double touched_bytes() const { return touched_bytes_; }

 private:
  struct CachedAccess {
    const AccessFact* access;
    std::vector<double> bytes;  // that it touches from the loop at each position on; the last: one access
  };

  const ProgramFacts& facts_;
  std::vector<CachedAccess> accesses_;
  std::vector<double> run_bytes_;  // by loop, that its whole run touches
  double touched_bytes_ = 0;
};

}  // namespace dovetail::tune
