// The last instruction that accessed each of many elements. Since instructions access long runs, elements are grouped
// in blocks: a block whose elements have the same last instruction is one entry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "isa/verify/accesses.h"

namespace dovetail::accel {

inline constexpr int kNone = -1;

class LastTouch {
 public:
  LastTouch() = default;
  explicit LastTouch(std::size_t elements)
      : blocks_((elements + kBlock - 1) / kBlock, kNone),
        elements_(std::make_unique_for_overwrite<int[]>(blocks_.size() * kBlock)) {}

  void clear() { std::ranges::fill(blocks_, kNone); }
  // The latest instruction for a run; kNone if it was not accessed.
  int latest(const isa::Extent& run) const {
    int result = kNone;
    for_blocks(run, [&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      if (blocks_[block] != kMixed) result = std::max(result, blocks_[block]);
      else result = std::max(result, std::ranges::max(std::span(&elements_[begin], end - begin)));
    });
    return result;
  }
  int latest(const std::vector<isa::Extent>& runs) const {
    int result = kNone;
    for (const isa::Extent& run : runs) result = std::max(result, latest(run));
    return result;
  }
  void touch(const isa::Extent& run, int instruction) {
    for_blocks(run, [&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      int& all = blocks_[block];
      if (end - begin == kBlock || all == instruction) {
        all = instruction;
        return;
      }
      if (all != kMixed) std::fill_n(&elements_[block * kBlock], kBlock, all);
      all = kMixed;
      std::fill(&elements_[begin], &elements_[end], instruction);
    });
  }
  void touch(const std::vector<isa::Extent>& runs, int instruction) {
    for (const isa::Extent& run : runs) touch(run, instruction);
  }

 private:
  static constexpr std::uint64_t kBlock = 16;
  static constexpr int kMixed = -2;  // in blocks_: elements_ has an entry for each element

  // Visits the part of the run in each block.
  template <typename Visit>
  static void for_blocks(const isa::Extent& run, const Visit& visit) {
    for (std::uint64_t begin = run.begin; begin < run.end;) {
      const std::uint64_t block = begin / kBlock, end = std::min(run.end, (block + 1) * kBlock);
      visit(block, begin, end);
      begin = end;
    }
  }

  std::vector<int> blocks_;  // the last instruction that accessed all elements of each block
  std::unique_ptr<int[]> elements_;
};

}  // namespace dovetail::accel
