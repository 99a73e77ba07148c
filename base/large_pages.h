// Large pages for memory that is read again and again: a run streams through more weights than the processor's tables
// of pages cover, and on a virtual machine looking up a page takes as long as fetching several lines of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dovetail {

inline constexpr std::size_t kLargePageBytes = 2 << 20;

// Asks the system to put the large pages that these bytes fill at least half of into one piece of memory each, now. The
// bytes stay what they are. Returns how many it did; fewer, or none, where the system has no such memory or does not
// know the request (Linux before 6.1).
std::size_t use_large_pages(const std::vector<std::span<const std::byte>>& pieces);

}  // namespace dovetail
