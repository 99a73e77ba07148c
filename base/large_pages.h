// Large pages for memory that is read repeatedly: a run streams through more weights than the processor's TLBs cover,
// and on a virtual machine a page-table walk takes as long as fetching several cache lines.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dovetail {

inline constexpr std::size_t kLargePageBytes = 2 << 20;

// Asks the system to map each large page of which these bytes fill at least half to one physical page, now. The
// contents do not change. Returns the number of large pages obtained; fewer, or none, if the system has no such memory
// or does not know the request (Linux before 6.1).
std::size_t use_large_pages(const std::vector<std::span<const std::byte>>& pieces);

}  // namespace dovetail
