// Where tensors lie: all that steps compute in one space have one memory, in which tensors that do not live at the same
// time share bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "bundle/bundle.h"

namespace dovetail {

// Bytes that are needed from one moment to another, both included.
struct MemoryItem {
  std::uint64_t bytes = 0;
  bundle::LiveRange range;
  std::uint64_t offset = 0;
};
// Sets the offsets, multiples of `alignment` (a power of two), so that no two items that live together overlap; returns
// the bytes that all take. Deterministic: items by falling size, each into the tightest gap between those placed before
// that live at the same time (greedy by size, as in Pisarchyk and Lee, «Efficient Memory Management for Deep Neural Net
// Inference», 2020, with best fit).
std::uint64_t place_items(std::vector<MemoryItem>& items, std::uint64_t alignment);

// Of the host's memory.
struct MemoryPlan {
  std::uint64_t bytes = 0;        // that its tensors share
  std::uint64_t bound_bytes = 0;  // no plan is smaller: the most that lives at one step
  std::uint64_t sum_bytes = 0;    // without sharing

  MemoryPlan& operator+=(const MemoryPlan& other) {
    bytes += other.bytes, bound_bytes += other.bound_bytes, sum_bytes += other.sum_bytes;
    return *this;
  }
};

// Sets the offsets of all tensors that steps compute and that have none yet, in each space behind what is given out
// there, and the sizes of the spaces. Views go where their tensors lie.
MemoryPlan plan_memory(bundle::Bundle& bundle);

}  // namespace dovetail
