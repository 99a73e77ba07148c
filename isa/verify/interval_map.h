// A map from ranges of uint64 to states, stored as maximal intervals. Each operation costs O(log n) plus the intervals
// that it visits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "isa/verify.h"

namespace dovetail::isa {

template <typename State>
class IntervalMap {
 public:
  bool empty() const { return pieces_.empty(); }
  void clear() { pieces_.clear(); }

  // Calls visit(state, part) for each part of `extent` that has a state, ascending.
  template <typename Visit>
  void query(Extent extent, Visit&& visit) const {
    if (extent.begin >= extent.end) return;
    auto piece = pieces_.upper_bound(extent.begin);
    if (piece != pieces_.begin() && std::prev(piece)->second.end > extent.begin) --piece;
    for (; piece != pieces_.end() && piece->first < extent.end; ++piece)
      visit(piece->second.state, Extent{std::max(piece->first, extent.begin), std::min(piece->second.end, extent.end)});
  }

  // Calls visit(state, part) for all of `extent`, ascending; parts without a state get State{} first. Intervals are
  // split at the ends of `extent`.
  template <typename Visit>
  void update(Extent extent, Visit&& visit) {
    if (extent.begin >= extent.end) return;
    auto piece = first_from(extent.begin);
    for (std::uint64_t at = extent.begin; at < extent.end;) {
      if (piece == pieces_.end() || piece->first > at) {
        const std::uint64_t end = piece == pieces_.end() ? extent.end : std::min(extent.end, piece->first);
        piece = pieces_.emplace_hint(piece, at, Piece{end, State{}});
      }
      if (piece->second.end > extent.end) cut(piece, extent.end);
      visit(piece->second.state, Extent{at, piece->second.end});
      at = piece->second.end;
      ++piece;
    }
  }

  // Replaces all of `extent` by one interval.
  void assign(Extent extent, const State& state) {
    if (extent.begin >= extent.end) return;
    auto piece = first_from(extent.begin);
    while (piece != pieces_.end() && piece->first < extent.end) {
      if (piece->second.end > extent.end) cut(piece, extent.end);
      piece = pieces_.erase(piece);
    }
    pieces_.emplace_hint(piece, extent.begin, Piece{extent.end, state});
  }

 private:
  struct Piece {
    std::uint64_t end;
    State state;
  };
  using Pieces = std::map<std::uint64_t, Piece>;

  // The interval that contains `at`, else the first one that begins after it.
  typename Pieces::iterator first_from(std::uint64_t at) {
    const auto after = pieces_.upper_bound(at);
    if (after == pieces_.begin()) return after;
    const auto before = std::prev(after);
    if (before->first == at) return before;
    return before->second.end > at ? cut(before, at) : after;
  }

  // Splits an interval at `at`, and returns the part that begins there.
  typename Pieces::iterator cut(typename Pieces::iterator piece, std::uint64_t at) {
    const Piece tail = piece->second;
    piece->second.end = at;
    return pieces_.emplace_hint(std::next(piece), at, tail);
  }

  Pieces pieces_;
};

}  // namespace dovetail::isa
