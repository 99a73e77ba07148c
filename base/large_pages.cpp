#include "base/large_pages.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include <sys/mman.h>

namespace dovetail {

namespace {

constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers of the C library lack

}  // namespace

std::size_t use_large_pages(const std::vector<std::span<const std::byte>>& pieces) {
  std::map<std::uintptr_t, std::size_t> filled;  // filled bytes, by large page
  for (const std::span<const std::byte>& piece : pieces) {
    const auto begin = reinterpret_cast<std::uintptr_t>(piece.data()), end = begin + piece.size();
    for (std::uintptr_t page = begin / kLargePageBytes * kLargePageBytes; page < end; page += kLargePageBytes)
      filled[page] += std::min(end, page + kLargePageBytes) - std::max(begin, page);
  }
  std::size_t done = 0;
  for (const auto& [page, bytes] : filled)
    if (2 * bytes >= kLargePageBytes) done += madvise(reinterpret_cast<void*>(page), kLargePageBytes, kCollapse) == 0;
  return done;
}

}  // namespace dovetail
