// The part of each buffer that one tile of a program accesses, as a function of the tile's extents: the result of
// compute_at, without scheduling a program for each tile. The basis of analytic choices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loops/ir.h"

namespace dovetail::schedule {

// constant + sum of coefficient * floor((extent of the loop in the tile - 1) / divisor).
struct TileExtent {
  struct Term {
    std::size_t loop;                   // position in Footprint::loops()
    std::int64_t coefficient, divisor;  // both positive
    bool operator==(const Term&) const = default;
  };
  std::int64_t constant = 1;
  std::vector<Term> terms;  // in the order of the loops; most have one or two

  std::int64_t at(std::span<const std::int64_t> tile) const;
  bool operator==(const TileExtent&) const = default;
};

class Footprint {
 public:
  // `program` as an operator defines it: one nest for each block, one loop for each iterator. A dimension whose index
  // is not a sum of multiples of iterators and of their quotients by constants counts as a whole. Quotients assume
  // aligned tiles: they divide the divisor, or are multiples of it. Several readers of a buffer are bounded together,
  // from above. `shared`: loops of several blocks that the schedule merges: they count as one loop, with this name.
  struct Shared {
    std::string name;
    std::vector<std::string> loops;
  };
  explicit Footprint(const loops::Program& program, Shared shared = {});

  // The names and full extents of the loops whose extents form a tile: those of blocks that write results, and those of
  // reductions.
  const std::vector<std::string>& loops() const { return loops_; }
  const std::vector<std::int64_t>& whole() const { return whole_; }
  std::optional<std::size_t> find(std::string_view loop) const;

  // The extent of each dimension of a buffer that the program reads; null for other buffers.
  const std::vector<TileExtent>* box(std::string_view buffer) const;
  // The product of these extents. Precondition: the buffer is read.
  std::int64_t elements(std::string_view buffer, std::span<const std::int64_t> tile) const;

  // An intermediate TileExtent, with all loops.
  struct DenseExtent {
    std::int64_t constant = 1;
    std::vector<std::int64_t> coefficients;  // by loop, none negative
    std::vector<std::int64_t> divisors;      // likewise; 1 where the coefficient is 0
  };

 private:
  // The range that the readers of a dimension access; it starts at `low`.
  struct Range {
    std::int64_t low = 0;
    DenseExtent extent;
    bool folded = false;  // loops of single readers count as a whole in it
  };

  // An extent independent of the tile.
  DenseExtent fixed(std::int64_t extent) const {
    return {extent, std::vector<std::int64_t>(loops_.size(), 0), std::vector<std::int64_t>(loops_.size(), 1)};
  }
  void add_loop(const std::string& name, std::int64_t extent);
  void fold_others(Range& a, Range& b) const;
  void add_reads(const loops::Block& block, const std::map<const loops::VarNode*, DenseExtent>& iterators);

  Shared shared_;
  std::vector<std::string> loops_;
  std::vector<std::int64_t> whole_;
  std::map<std::string, std::vector<Range>> ranges_;
  // By buffer. There are few, and a search looks them up by name for every candidate.
  std::vector<std::pair<std::string, std::vector<TileExtent>>> boxes_;
};

}  // namespace dovetail::schedule
