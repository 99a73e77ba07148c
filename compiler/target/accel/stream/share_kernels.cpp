#include "compiler/target/accel/stream/share_kernels.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace dovetail::accel {

namespace {

// Hashes of all prefixes of a sequence: the hash of [begin, begin + size) follows from two of them. Modulo 2^64;
// sequences with equal hashes are compared.
constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
class PrefixHashes {
 public:
  explicit PrefixHashes(std::span<const isa::Uop> uops) : hashes_(uops.size() + 1) {
    for (std::size_t i = 0; i < uops.size(); ++i) {
      const std::uint64_t word =
          (std::uint64_t{uops[i].dst} << 42 ^ std::uint64_t{uops[i].src} << 21 ^ uops[i].wgt) + 1;
      hashes_[i + 1] = hashes_[i] * kFactor + word * 0xbf58476d1ce4e5b9;
    }
  }
  // `power`: kFactor to the power of size.
  std::uint64_t of(std::size_t begin, std::size_t size, std::uint64_t power) const {
    return hashes_[begin + size] - hashes_[begin] * power;
  }

 private:
  std::vector<std::uint64_t> hashes_;
};

std::uint64_t factor_to(std::size_t exponent) {
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < exponent; ++i) power *= kFactor;
  return power;
}

}  // namespace

std::vector<KernelPart> share_kernels(std::span<const std::vector<isa::Uop>> kernels) {
  std::vector<KernelPart> parts;
  std::vector<PrefixHashes> hashes;
  std::map<std::size_t, std::vector<int>> by_size;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    parts.push_back({static_cast<int>(k), 0});
    hashes.emplace_back(kernels[k]);
    by_size[kernels[k].size()].push_back(static_cast<int>(k));
  }
  // Larger kernels first, so that it is known of which kernels they are part.
  for (auto group = by_size.rbegin(); group != by_size.rend(); ++group) {
    const auto& [size, members] = *group;
    if (size == 0) continue;
    const std::uint64_t power = factor_to(size);
    std::unordered_multimap<std::uint64_t, int> open;
    for (const int k : members) open.emplace(hashes[static_cast<std::size_t>(k)].of(0, size, power), k);
    for (auto larger = by_size.upper_bound(size); larger != by_size.end() && !open.empty(); ++larger)
      for (const int whole : larger->second) {
        const auto& uops = kernels[static_cast<std::size_t>(whole)];
        if (parts[static_cast<std::size_t>(whole)].whole != whole) continue;  // it is part of another kernel
        for (std::size_t begin = 0; begin + size <= uops.size() && !open.empty(); ++begin) {
          const auto [first, last] = open.equal_range(hashes[static_cast<std::size_t>(whole)].of(begin, size, power));
          for (auto found = first; found != last; ++found) {
            const auto& own = kernels[static_cast<std::size_t>(found->second)];
            if (!std::equal(own.begin(), own.end(), uops.begin() + static_cast<std::ptrdiff_t>(begin))) continue;
            parts[static_cast<std::size_t>(found->second)] = {whole, begin};
            open.erase(found);
            break;
          }
        }
      }
  }
  return parts;
}

}  // namespace dovetail::accel
