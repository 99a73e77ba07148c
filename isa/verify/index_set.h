// The exact set of SRAM elements that a micro-op loop reaches: {base + y*factor_out + x*factor_in}, computed as set
// sums on a bit set, so that the cost depends on the number of micro-ops and the memory's depth, not on the trip
// counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/verify.h"

namespace dovetail::isa {

class IndexSet {
 public:
  // Elements at or beyond `depth` are dropped: callers that need to detect them check the largest one first.
  explicit IndexSet(std::uint64_t depth);

  void clear();
  void insert(std::uint64_t element);
  // S becomes {s + i*step : s in S, i < count}. Precondition: count > 0. Uses doubling: log2(count) shifts of the
  // touched words.
  void repeat(std::uint64_t step, std::uint64_t count);
  // The maximal runs, ascending.
  void runs(std::vector<Extent>& out) const;

 private:
  void merge_shifted(std::uint64_t distance);

  std::uint64_t depth_;
  std::vector<std::uint64_t> words_;
  std::size_t low_ = 0, high_ = 0;  // words that may be non-zero: [low_, high_)
};

}  // namespace dovetail::isa
