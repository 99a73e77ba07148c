// The places of DRAM that a launch both loads from and stores to, which are few: what touches only the rest, such as
// weights, meets nobody. By hulls of accesses: a place that is none may be taken for one, not the reverse.
#pragma once

#include <vector>

#include "isa/verify.h"
#include "isa/verify/accesses.h"

namespace dovetail::isa {

class SharedBytes {
 public:
  void clear();
  void add(const DramAccess& access);
  // After the last add.
  void close();
  // An access of the other direction may touch a byte of `extent`. Precondition: closed.
  bool meets(bool write, const Extent& extent) const;

 private:
  std::vector<Extent> stored_, loaded_;  // closed: sorted and disjoint
};

}  // namespace dovetail::isa
