// Kernels that are part of others, by content.
#include "compiler/target/accel/stream/share_kernels.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::accel {

namespace {

using Kernel = std::vector<isa::Uop>;

Kernel kernel(const std::vector<std::uint32_t>& values) {
  Kernel uops;
  for (const std::uint32_t value : values) uops.push_back({.dst = 0, .src = value, .wgt = value % 3});
  return uops;
}

}  // namespace

TEST_CASE("share_kernels: beginnings, ends and middles of a kernel are its parts") {
  const std::vector<Kernel> kernels{kernel({5, 6}), kernel({4, 5, 6, 7}), kernel({4}),
                                    kernel({6, 7}), kernel({7, 6}),       kernel({5, 6, 8})};
  const std::vector<KernelPart> parts = share_kernels(kernels);
  const auto part = [&](std::size_t k) { return std::pair{parts[k].whole, parts[k].offset}; };
  CHECK(part(1) == std::pair{1, std::uint64_t{0}});
  CHECK(part(2) == std::pair{1, std::uint64_t{0}});
  CHECK(part(3) == std::pair{1, std::uint64_t{2}});
  CHECK(part(4) == std::pair{4, std::uint64_t{0}});  // no kernel contains it in this order
  CHECK(part(5) == std::pair{5, std::uint64_t{0}});
  // A first step that overwrites, and the remaining steps, of a kernel that occurs as a whole: no separate micro-ops.
  CHECK((part(0) == std::pair{1, std::uint64_t{1}} || part(0) == std::pair{5, std::uint64_t{0}}));
}

TEST_CASE("share_kernels: every reported part occurs, and every occurring part is reported") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::Random random(seed);
    std::vector<Kernel> kernels;
    for (std::uint64_t k = random.between(1, 12); k > 0; --k) {
      std::vector<std::uint32_t> values(random.between(1, 9));
      for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random.below(3));
      Kernel made = kernel(values);
      if (std::find(kernels.begin(), kernels.end(), made) == kernels.end()) kernels.push_back(std::move(made));
    }
    CAPTURE(seed);
    const std::vector<KernelPart> parts = share_kernels(kernels);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const Kernel& whole = kernels[static_cast<std::size_t>(parts[k].whole)];
      CHECK(parts[static_cast<std::size_t>(parts[k].whole)].whole == parts[k].whole);
      REQUIRE(parts[k].offset + kernels[k].size() <= whole.size());
      CHECK(std::equal(kernels[k].begin(), kernels[k].end(),
                       whole.begin() + static_cast<std::ptrdiff_t>(parts[k].offset)));
      if (parts[k].whole != static_cast<int>(k)) continue;
      for (std::size_t other = 0; other < kernels.size(); ++other)
        if (other != k)
          CHECK(std::search(kernels[other].begin(), kernels[other].end(), kernels[k].begin(), kernels[k].end()) ==
                kernels[other].end());
    }
  }
}

}  // namespace dovetail::accel
