#include "driver/kernels/loop_footprint.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/saturating.h"
#include "loops/simplify.h"

namespace dovetail::driver {

namespace {

using AccessBox = std::vector<loops::Interval>;  // by dimension

class Footprints {
 public:
  void add(const loops::Stmt& stmt) {
    if (!stmt) return;
    if (const auto* loop = std::get_if<loops::For>(&stmt->node)) {
      around_.push_back(loop);
      boxes_.emplace_back();
      add(loop->body);
      finish(*loop);
    } else if (const auto* block = std::get_if<loops::Block>(&stmt->node)) {
      add(*block);
    } else if (const auto* sequence = std::get_if<loops::Sequence>(&stmt->node)) {
      for (const loops::Stmt& each : sequence->body) add(each);
    } else if (const auto* branch = std::get_if<loops::If>(&stmt->node)) {
      add(branch->then_body);
      add(branch->else_body);
    }
  }

  std::map<std::string, std::uint64_t> bytes;

 private:
  // The boxes of a block's accesses in one iteration of each loop around it.
  void add(const loops::Block& block) {
    for (std::size_t level = 0; level < around_.size(); ++level) {
      loops::Bounds bounds;
      for (std::size_t i = 0; i < around_.size(); ++i)
        bounds[around_[i]->var.get()] = {0, i <= level ? 0 : std::max<std::int64_t>(around_[i]->extent - 1, 0)};
      loops::Bounds inside;
      for (const loops::Iterator& iterator : block.iterators)
        inside[iterator.var.get()] =
            loops::bound(iterator.binding, bounds).value_or(loops::Interval{0, iterator.extent - 1});
      for (const auto* regions : {&block.reads, &block.writes})
        for (const loops::Region& region : *regions) add(region, inside, boxes_[level]);
    }
  }

  static void add(const loops::Region& region, const loops::Bounds& bounds,
                  std::map<const loops::BufferNode*, AccessBox>& boxes) {
    AccessBox box;
    for (std::size_t d = 0; d < region.ranges.size(); ++d) {
      const loops::Interval whole{0, region.buffer->shape[d] - 1};
      loops::Interval range = whole;
      if (const auto first = loops::bound(region.ranges[d].min, bounds))
        range = {std::clamp(first->min, whole.min, std::max(whole.min, whole.max)),
                 std::min(saturating_sum_of(first->max, region.ranges[d].extent - 1), whole.max)};
      box.push_back(range);
    }
    const auto [known, added] = boxes.emplace(region.buffer.get(), box);
    if (added) return;
    for (std::size_t d = 0; d < box.size(); ++d)
      known->second[d] = {std::min(known->second[d].min, box[d].min), std::max(known->second[d].max, box[d].max)};
  }
  static std::int64_t saturating_sum_of(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
  }

  void finish(const loops::For& loop) {
    std::uint64_t all = 0;
    for (const auto& [buffer, box] : boxes_.back()) {
      auto size = static_cast<std::uint64_t>(size_bytes(buffer->dtype));
      for (const loops::Interval& range : box)
        size =
            saturating_product(size, static_cast<std::uint64_t>(std::max<std::int64_t>(range.max - range.min + 1, 0)));
      all = saturating_sum(all, size);
    }
    bytes[loop.var->name] = all;
    boxes_.pop_back();
    around_.pop_back();
  }

  std::vector<const loops::For*> around_;
  std::vector<std::map<const loops::BufferNode*, AccessBox>> boxes_;  // of one iteration of each loop around
};

}  // namespace

std::map<std::string, std::uint64_t> loop_footprints(const loops::Program& program) {
  Footprints footprints;
  footprints.add(program.body);
  return std::move(footprints.bytes);
}

}  // namespace dovetail::driver
