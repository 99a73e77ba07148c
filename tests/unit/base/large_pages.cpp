#include "base/large_pages.h"

#include "base/aligned_bytes.h"
#include "tests/catch.h"

namespace dovetail {

TEST_CASE("large pages: bytes do not change") {
  AlignedBytes bytes(5 * kLargePageBytes + 3);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 4096);
  const AlignedBytes before = bytes;
  // At least four whole pages are inside, and at most six are touched.
  CHECK(use_large_pages({std::span(bytes)}) <= 6);
  CHECK(bytes == before);
}

TEST_CASE("large pages: pages that pieces fill by less than half are not used") {
  const AlignedBytes bytes(4 * kLargePageBytes);
  CHECK(use_large_pages({}) == 0);
  CHECK(use_large_pages({std::span(bytes).first(0)}) == 0);
  CHECK(use_large_pages({std::span(bytes).first(kLargePageBytes / 2 - 1)}) == 0);
}

}  // namespace dovetail
