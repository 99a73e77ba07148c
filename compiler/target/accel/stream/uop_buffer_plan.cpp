#include "compiler/target/accel/stream/uop_buffer_plan.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/check.h"

namespace dovetail::accel {

namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

class Planner {
 public:
  Planner(std::span<const std::uint64_t> sizes, std::span<const KernelUse> uses, std::uint64_t depth)
      : sizes_(sizes),
        uses_(uses),
        depth_(depth),
        offsets_(sizes.size()),
        place_(sizes.size()),
        uses_of_(sizes.size()),
        next_(sizes.size(), 0) {
    std::uint64_t offset = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      offsets_[k] = offset;
      offset += sizes[k];
    }
    for (std::size_t u = 0; u < uses.size(); ++u) uses_of_[kernel(u)].push_back(u);
  }

  UopBufferPlan run() && {
    for (std::size_t u = 0; u < uses_.size(); ++u) {
      const std::size_t k = kernel(u);
      if (!place_[k]) load(k, u);
      plan_.places.push_back(*place_[k]);
      ++next_[k];
    }
    return std::move(plan_);
  }

 private:
  struct Window {
    std::uint64_t begin;
    std::size_t reused;  // the next use of the kernels that are there
  };

  std::size_t kernel(std::size_t use) const { return static_cast<std::size_t>(uses_[use].kernel); }
  // The next use that is not in the past.
  std::size_t next_use(std::size_t k) const { return next_[k] < uses_of_[k].size() ? uses_of_[k][next_[k]] : kNever; }

  // Loads kernels [k, last) into the buffer, as many as evict no kernel that is used before them.
  void load(std::size_t k, std::size_t use) {
    std::uint64_t size = sizes_[k];
    std::size_t last = k + 1;
    for (; last < sizes_.size() && !place_[last] && size + sizes_[last] <= depth_; ++last) {
      const std::size_t next = next_use(last);
      if (next == kNever || uses_[next].node != uses_[use].node) break;
      size += sizes_[last];
    }
    for (;;) {
      const Window window = best_window(size);
      std::size_t latest = use;
      for (std::size_t with = k; with < last; ++with) latest = std::max(latest, next_use(with));
      if (last - k == 1 || window.reused > latest) return put(k, last, size, window.begin, use);
      const std::size_t half = k + (last - k) / 2;
      for (; last > half; --last) size -= sizes_[last - 1];
    }
  }

  // The window of the buffer whose contents are used again latest; of equal ones the first. It begins or ends at the
  // border of a resident kernel.
  Window best_window(std::uint64_t size) const {
    std::vector<std::uint64_t> begins{0};
    for (const auto& [begin, resident] : resident_) {
      const std::uint64_t end = begin + sizes_[resident];
      begins.push_back(end);
      if (begin >= size) begins.push_back(begin - size);
    }
    std::erase_if(begins, [&](std::uint64_t begin) { return begin + size > depth_; });
    std::sort(begins.begin(), begins.end());
    Window best{0, 0};
    bool found = false;
    // Residents that overlap the window. The first entry of `first_reused` is used first; later entries are later in
    // the buffer.
    std::deque<std::pair<std::uint64_t, std::size_t>> first_reused;  // end in the buffer, next use
    auto entering = resident_.begin();
    for (const std::uint64_t begin : begins) {
      for (; entering != resident_.end() && entering->first < begin + size; ++entering) {
        const std::size_t reused = next_use(entering->second);
        while (!first_reused.empty() && first_reused.back().second >= reused) first_reused.pop_back();
        first_reused.emplace_back(entering->first + sizes_[entering->second], reused);
      }
      while (!first_reused.empty() && first_reused.front().first <= begin) first_reused.pop_front();
      const std::size_t reused = first_reused.empty() ? kNever : first_reused.front().second;
      if (found && reused <= best.reused) continue;
      best = {begin, reused};
      found = true;
    }
    return best;
  }

  void put(std::size_t k, std::size_t last, std::uint64_t size, std::uint64_t begin, std::size_t use) {
    auto evicted = resident_.lower_bound(begin);
    if (evicted != resident_.begin() && std::prev(evicted)->first + sizes_[std::prev(evicted)->second] > begin)
      --evicted;
    while (evicted != resident_.end() && evicted->first < begin + size) {
      place_[evicted->second].reset();
      evicted = resident_.erase(evicted);
    }
    plan_.loads.push_back({uses_[use].at, begin, offsets_[k], size});
    for (; k < last; begin += sizes_[k], ++k) {
      place_[k] = begin;
      resident_[begin] = k;
    }
  }

  const std::span<const std::uint64_t> sizes_;
  const std::span<const KernelUse> uses_;
  const std::uint64_t depth_;
  std::vector<std::uint64_t> offsets_;               // offset in the area
  std::vector<std::optional<std::uint64_t>> place_;  // place in the buffer, for resident kernels
  std::vector<std::vector<std::size_t>> uses_of_;
  std::vector<std::size_t> next_;                  // index into uses_of_
  std::map<std::uint64_t, std::size_t> resident_;  // by place
  UopBufferPlan plan_;
};

}  // namespace

UopBufferPlan plan_uop_buffer(std::span<const std::uint64_t> sizes, std::span<const KernelUse> uses,
                              std::uint64_t depth) {
  std::uint64_t all = 0;
  for (const std::uint64_t size : sizes) {
    DOVETAIL_CHECK(size > 0 && size <= depth, fmt::format("a kernel of {} micro-ops for a buffer of {}", size, depth));
    all += size;
  }
  if (all > depth) return Planner(sizes, uses, depth).run();
  UopBufferPlan plan;
  if (all > 0 && !uses.empty()) plan.loads.push_back({0, 0, 0, all});
  std::vector<std::uint64_t> offsets;
  std::uint64_t offset = 0;
  for (const std::uint64_t size : sizes) {
    offsets.push_back(offset);
    offset += size;
  }
  for (const KernelUse& use : uses) plan.places.push_back(offsets[static_cast<std::size_t>(use.kernel)]);
  return plan;
}

}  // namespace dovetail::accel
