#include "isa/verify/sram_shadow.h"

#include <algorithm>
#include <utility>

namespace dovetail::isa {
namespace {

// Branch-free, so that the common case, no conflict in a whole run, is a vector loop.
Position largest(const std::vector<Position>& positions, const Extent& run) {
  Position result = 0;
  for (std::uint64_t e = run.begin; e < run.end; ++e) result = std::max(result, positions[e]);
  return result;
}
Position smallest(const std::vector<Position>& positions, const Extent& run) {
  Position result = ~Position{0};
  for (std::uint64_t e = run.begin; e < run.end; ++e) result = std::min(result, positions[e]);
  return result;
}

// Every element of `run` whose last access by `queue` is not one of the first `done`.
void find_conflicts(const std::vector<Position>& last, const Extent& run, Queue queue, Position done,
                    ConflictList& conflicts) {
  if (largest(last, run) <= done) return;
  for (std::uint64_t e = run.begin; e < run.end; ++e)
    if (last[e] > done) conflicts.add(queue, last[e], false, {e, e + 1});
}

}  // namespace

SramShadow::SramShadow(const HardwareConfig& config, Memory memory, Queue writer, Queue reader)
    : memory_(memory), writer_(writer), reader_(reader) {
  const auto depth = static_cast<std::size_t>(config.depth(memory));
  first_write_.resize(depth);
  last_write_.resize(depth);
  last_read_.resize(depth);
}

void SramShadow::access(const SramAccess& access, const Event& event, ConflictList& conflicts) {
  if (access.kind != AccessKind::write) read(access, event, conflicts);
  if (access.kind != AccessKind::read) write(access, event, conflicts);
}

void SramShadow::suspect(const Event& event, Extent extent) {
  if (suspects_.empty() || suspects_.back().queue != event.queue || suspects_.back().position != event.position)
    suspects_.push_back({event.queue, event.position, {}});
  if (extent.begin == extent.end) return;
  std::vector<Extent>& extents = suspects_.back().extents;
  if (!extents.empty() && extents.back().end == extent.begin) extents.back().end = extent.end;
  else extents.push_back(extent);
}

void SramShadow::read(const SramAccess& access, const Event& event, ConflictList& conflicts) {
  const bool crosses = event.queue != writer_;
  const Position done = event.clock[index(writer_)];
  if (access.anywhere) {
    if (any_first_write_ == 0 && !access.possible) suspect(event, {});
    if (!crosses) return;
    if (any_last_write_ > done) conflicts.add(writer_, any_last_write_, true, {});
    may_last_read_ = event.position;
    any_last_read_ = event.position;
    return;
  }
  for (const Extent& run : access.runs) {
    if (may_first_write_ == 0 && smallest(first_write_, run) == 0)
      for (std::uint64_t e = run.begin; e < run.end; ++e)
        if (first_write_[e] == 0) suspect(event, {e, e + 1});
    if (!crosses) continue;
    find_conflicts(last_write_, run, writer_, done, conflicts);
    if (may_last_write_ > done) conflicts.add(writer_, may_last_write_, true, run);
    std::fill(last_read_.begin() + static_cast<std::ptrdiff_t>(run.begin),
              last_read_.begin() + static_cast<std::ptrdiff_t>(run.end), event.position);
    any_last_read_ = event.position;
  }
}

void SramShadow::write(const SramAccess& access, const Event& event, ConflictList& conflicts) {
  const Position done = event.clock[index(reader_)];
  if (any_first_write_ == 0) any_first_write_ = event.position;
  any_last_write_ = event.position;
  if (access.anywhere) {
    if (any_last_read_ > done) conflicts.add(reader_, any_last_read_, true, {});
    if (may_first_write_ == 0) may_first_write_ = event.position;
    may_last_write_ = event.position;
    return;
  }
  for (const Extent& run : access.runs) {
    find_conflicts(last_read_, run, reader_, done, conflicts);
    if (may_last_read_ > done) conflicts.add(reader_, may_last_read_, true, run);
    for (std::uint64_t e = run.begin; e < run.end; ++e)
      first_write_[e] = first_write_[e] == 0 ? event.position : first_write_[e];
    std::fill(last_write_.begin() + static_cast<std::ptrdiff_t>(run.begin),
              last_write_.begin() + static_cast<std::ptrdiff_t>(run.end), event.position);
  }
}

std::vector<SramShadow::Undefined> SramShadow::end_launch(const Ordered& ordered) {
  std::vector<Undefined> result;
  for (Undefined& suspect : std::exchange(suspects_, {})) {
    const auto never_before = [&](Position write) {
      return write == 0 || ordered(write, suspect.queue, suspect.position);
    };
    if (suspect.extents.empty()) {
      if (never_before(any_first_write_)) result.push_back(std::move(suspect));
      continue;
    }
    if (!never_before(may_first_write_)) continue;
    Undefined undefined{suspect.queue, suspect.position, {}};
    for (const Extent& run : suspect.extents)
      for (std::uint64_t e = run.begin; e < run.end; ++e) {
        if (!never_before(first_write_[e])) continue;
        if (!undefined.extents.empty() && undefined.extents.back().end == e) ++undefined.extents.back().end;
        else undefined.extents.push_back({e, e + 1});
      }
    if (!undefined.extents.empty()) result.push_back(std::move(undefined));
  }
  return result;
}

}  // namespace dovetail::isa
