#include "isa/verify/clock.h"

#include <utility>

namespace dovetail::isa {

std::vector<Conflict> ConflictList::take() {
  std::sort(raw_.begin(), raw_.end());
  std::vector<Conflict> conflicts;
  for (const Raw& raw : raw_) {
    if (conflicts.empty() || conflicts.back().queue != raw.queue || conflicts.back().position != raw.position ||
        conflicts.back().possible != raw.possible)
      conflicts.push_back({raw.queue, raw.position, raw.possible, {}});
    if (raw.extent.begin == raw.extent.end) continue;  // the location is unknown
    std::vector<Extent>& extents = conflicts.back().extents;
    if (!extents.empty() && extents.back().end >= raw.extent.begin)
      extents.back().end = std::max(extents.back().end, raw.extent.end);
    else extents.push_back(raw.extent);
  }
  raw_.clear();
  return conflicts;
}

}  // namespace dovetail::isa
