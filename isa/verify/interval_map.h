// A map from a line of uint64 to states, held as maximal pieces touched so far. Each operation costs O(log n) and the
// pieces it meets.
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

  // visit(state, part) for each part of `extent` that has a state, ascending.
  template <typename Visit>
  void query(Extent extent, Visit&& visit) const {
    if (extent.begin >= extent.end) return;
    auto piece = pieces_.upper_bound(extent.begin);
    if (piece != pieces_.begin() && std::prev(piece)->second.end > extent.begin) --piece;
    for (; piece != pieces_.end() && piece->first < extent.end; ++piece)
      visit(piece->second.state, Extent{std::max(piece->first, extent.begin), std::min(piece->second.end, extent.end)});
  }

  // visit(state, part) for all of `extent`, ascending; parts without a state get State{} first. Pieces are cut at the
  // borders.
  template <typename Visit>
  void update(Extent extent, Visit&& visit) {
    if (extent.begin >= extent.end) return;
    cut(extent.begin);
    cut(extent.end);
    auto piece = pieces_.lower_bound(extent.begin);
    for (std::uint64_t at = extent.begin; at < extent.end;) {
      if (piece == pieces_.end() || piece->first > at) {
        const std::uint64_t end = piece == pieces_.end() ? extent.end : std::min(extent.end, piece->first);
        piece = pieces_.emplace_hint(piece, at, Piece{end, State{}});
      }
      visit(piece->second.state, Extent{at, piece->second.end});
      at = piece->second.end;
      ++piece;
    }
  }

  // All of `extent` becomes one piece.
  void assign(Extent extent, const State& state) {
    if (extent.begin >= extent.end) return;
    cut(extent.begin);
    cut(extent.end);
    const auto after = pieces_.erase(pieces_.lower_bound(extent.begin), pieces_.lower_bound(extent.end));
    pieces_.emplace_hint(after, extent.begin, Piece{extent.end, state});
  }

 private:
  struct Piece {
    std::uint64_t end;
    State state;
  };

  // Afterwards no piece spans `at`.
  void cut(std::uint64_t at) {
    auto piece = pieces_.upper_bound(at);
    if (piece == pieces_.begin()) return;
    --piece;
    if (piece->first == at || piece->second.end <= at) return;
    const Piece tail = piece->second;
    piece->second.end = at;
    pieces_.emplace_hint(std::next(piece), at, tail);
  }

  std::map<std::uint64_t, Piece> pieces_;
};

}  // namespace dovetail::isa
