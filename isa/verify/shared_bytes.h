// The DRAM locations that a launch both loads from and stores to, which are few: accesses to other locations, such as
// weights, cannot conflict. Computed from hulls of accesses: the set may be too large, but never too small.
#pragma once

#include <vector>

#include "isa/verify.h"
#include "isa/verify/accesses.h"

namespace dovetail::isa {

class SharedBytes {
 public:
  void clear();
  void add(const DramAccess& access);
  // Call after the last add.
  void close();
  // An access of the other direction may touch a byte of `extent`. Precondition: closed.
  bool meets(bool write, const Extent& extent) const;

 private:
  std::vector<Extent> stored_, loaded_;  // closed: sorted and disjoint
};

}  // namespace dovetail::isa
