// Memory planning: everything that steps compute in one space shares one memory, in which tensors with disjoint
// lifetimes share bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "bundle/bundle.h"

namespace dovetail {

// A buffer that is live from one step to another, both included.
struct MemoryItem {
  std::uint64_t bytes = 0;
  bundle::LiveRange range;
  std::uint64_t offset = 0;
};
// Sets the offsets, multiples of `alignment` (a power of two), so that no two items with overlapping lifetimes overlap
// in memory; returns the total size in bytes. Deterministic: items in order of decreasing size, each into the tightest
// gap between already placed items with overlapping lifetimes (greedy by size, as in Pisarchyk and Lee, «Efficient
// Memory Management for Deep Neural Net Inference», 2020, with best fit).
std::uint64_t place_items(std::vector<MemoryItem>& items, std::uint64_t alignment);

// The plan of the host's memory.
struct MemoryPlan {
  std::uint64_t bytes = 0;        // shared by all tensors
  std::uint64_t bound_bytes = 0;  // lower bound: the most live bytes at any step
  std::uint64_t sum_bytes = 0;    // size without sharing

  MemoryPlan& operator+=(const MemoryPlan& other) {
    bytes += other.bytes, bound_bytes += other.bound_bytes, sum_bytes += other.sum_bytes;
    return *this;
  }
};

// Sets the offsets of all tensors that steps compute and that have none yet, in each space after the allocated part,
// and the sizes of the spaces. Views get the offsets of their tensors.
MemoryPlan plan_memory(bundle::Bundle& bundle);

}  // namespace dovetail
