#include "isa/verify/shared_bytes.h"

#include <algorithm>

namespace dovetail::isa {
namespace {

void unite(std::vector<Extent>& extents) {
  std::sort(extents.begin(), extents.end());
  std::vector<Extent> united;
  for (const Extent& extent : extents) {
    if (!united.empty() && united.back().end >= extent.begin)
      united.back().end = std::max(united.back().end, extent.end);
    else united.push_back(extent);
  }
  extents = std::move(united);
}

}  // namespace

void SharedBytes::clear() {
  stored_.clear();
  loaded_.clear();
}

void SharedBytes::add(const DramAccess& access) {
  if (!access.empty()) (access.write ? stored_ : loaded_).push_back(access.hull());
}

void SharedBytes::close() {
  unite(stored_);
  unite(loaded_);
}

bool SharedBytes::meets(bool write, const Extent& extent) const {
  const std::vector<Extent>& others = write ? loaded_ : stored_;
  const auto after =
      std::partition_point(others.begin(), others.end(), [&](const Extent& e) { return e.end <= extent.begin; });
  return after != others.end() && after->begin < extent.end;
}

}  // namespace dovetail::isa
