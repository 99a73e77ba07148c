#include "compiler/assemble/plan_memory.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dovetail {

namespace {

using bundle::TensorIndex;

bool together(const bundle::LiveRange& a, const bundle::LiveRange& b) { return a.first <= b.last && b.first <= a.last; }

// The tightest gap for the item between those items of `placed` (in order of offset) that are live at the same time;
// else the offset after the last of them.
std::uint64_t best_fit(const MemoryItem& item, const std::vector<MemoryItem>& placed, std::uint64_t alignment) {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end = 0, best = 0, best_gap = kNone;
  for (const MemoryItem& other : placed) {
    if (!together(other.range, item.range)) continue;
    if (other.offset > end && other.offset - end >= item.bytes && other.offset - end < best_gap) {
      best_gap = other.offset - end;
      best = end;
    }
    end = std::max(end, (other.offset + other.bytes + alignment - 1) / alignment * alignment);
  }
  return best_gap == kNone ? end : best;
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + bundle::kTensorAlignment - 1) / bundle::kTensorAlignment * bundle::kTensorAlignment;
}

std::uint64_t most_at_once(const std::vector<MemoryItem>& items, std::size_t steps) {
  std::vector<std::uint64_t> born(steps + 1, 0),
      dies(steps + 1, 0);  // bytes that become live at each step, or are dead after it
  for (const MemoryItem& item : items) {
    born[static_cast<std::size_t>(item.range.first)] += item.bytes;
    if (item.range.last < static_cast<std::ptrdiff_t>(steps))
      dies[static_cast<std::size_t>(item.range.last)] += item.bytes;
  }
  std::uint64_t live = 0, most = 0;
  for (std::size_t step = 0; step <= steps; ++step) {
    live += born[step];
    most = std::max(most, live);
    live -= dies[step];
  }
  return most;
}

}  // namespace

std::uint64_t place_items(std::vector<MemoryItem>& items, std::uint64_t alignment) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  // Equal sizes are in order of first use: a chain of equal layers alternates between two addresses.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return items[a].bytes != items[b].bytes ? items[a].bytes > items[b].bytes
                                            : items[a].range.first < items[b].range.first;
  });
  std::uint64_t bytes = 0;
  std::vector<MemoryItem> placed;  // in order of offset
  for (const std::size_t position : order) {
    MemoryItem& item = items[position];
    item.offset = best_fit(item, placed, alignment);
    placed.insert(std::ranges::upper_bound(placed, item.offset, {}, &MemoryItem::offset), item);
    bytes = std::max(bytes, item.offset + item.bytes);
  }
  return bytes;
}

MemoryPlan plan_memory(bundle::Bundle& bundle) {
  for (bundle::Tensor& tensor : bundle.tensors)
    if (tensor.view_of) tensor.space = bundle.tensors[static_cast<std::size_t>(*tensor.view_of)].space;
  const std::vector<bundle::LiveRange> ranges = bundle::live_ranges(bundle);
  std::vector<bool> computed(bundle.tensors.size(), false);
  for (const bundle::Step& step : bundle.steps)
    for (const TensorIndex result : step.results) computed[static_cast<std::size_t>(result)] = true;
  MemoryPlan plan;
  for (std::size_t space = 0; space < bundle.spaces.size(); ++space) {
    std::vector<std::size_t> tensors;
    std::vector<MemoryItem> items;
    for (std::size_t t = 0; t < bundle.tensors.size(); ++t) {
      const bundle::Tensor& tensor = bundle.tensors[t];
      if (!computed[t] || tensor.offset || static_cast<std::size_t>(tensor.space) != space) continue;
      tensors.push_back(t);
      items.push_back({aligned(bundle::size_bytes(tensor)), ranges[t]});
    }
    if (items.empty()) continue;
    const std::uint64_t begin = aligned(bundle.spaces[space].bytes),
                        bytes = place_items(items, bundle::kTensorAlignment);
    bundle.spaces[space].bytes = begin + bytes;
    for (std::size_t i = 0; i < items.size(); ++i) bundle.tensors[tensors[i]].offset = begin + items[i].offset;
    if (space != static_cast<std::size_t>(bundle::kHostSpace)) continue;
    plan.bytes = bytes;
    plan.bound_bytes = most_at_once(items, bundle.steps.size());
    for (const MemoryItem& item : items) plan.sum_bytes += item.bytes;
  }
  return plan;
}

}  // namespace dovetail
