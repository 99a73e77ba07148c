#include "compiler/tune/features/traffic.h"

#include <algorithm>
#include <utility>

namespace dovetail::tune {

namespace {

// The largest part of each buffer touched by any of several accesses.
class LargestParts {
 public:
  void add(const loops::BufferNode* buffer, double bytes) {
    const auto known = std::ranges::find(parts_, buffer, &std::pair<const loops::BufferNode*, double>::first);
    if (known == parts_.end()) parts_.emplace_back(buffer, bytes);
    else known->second = std::max(known->second, bytes);
  }
  double sum() const {
    double bytes = 0;
    for (const auto& part : parts_) bytes += part.second;
    return bytes;
  }

 private:
  std::vector<std::pair<const loops::BufferNode*, double>> parts_;  // short
};

}  // namespace

TrafficModel::TrafficModel(const ProgramFacts& facts) : facts_(facts) {
  std::vector<LargestParts> runs(facts.loops.size());
  LargestParts whole;
  for (const AccessFact& access : facts.accesses) {
    if (access.place == Place::on_chip || access.place == Place::registers) continue;
    CachedAccess cached{&access, {}};
    for (std::size_t from = 0; from <= access.loops.size(); ++from) {
      cached.bytes.push_back(distinct_bytes(facts, access, from));
      if (from < access.loops.size()) runs[access.loops[from]].add(access.buffer, cached.bytes.back());
    }
    whole.add(access.buffer, cached.bytes.front());
    accesses_.push_back(std::move(cached));
  }
  for (const LargestParts& run : runs) run_bytes_.push_back(run.sum());
  touched_bytes_ = whole.sum();
}

Traffic TrafficModel::past(double cache_bytes) const {
  Traffic traffic;
  for (const auto& [access, bytes] : accesses_) {
    std::size_t fits = 0;
    while (fits < access->loops.size() && run_bytes_[access->loops[fits]] > cache_bytes) ++fits;
    const double begun = fits < access->loops.size() ? facts_.loops[access->loops[fits]].entered : access->times;
    (access->write ? traffic.stored_bytes : traffic.loaded_bytes) += begun * bytes[fits];
  }
  return traffic;
}

}  // namespace dovetail::tune
