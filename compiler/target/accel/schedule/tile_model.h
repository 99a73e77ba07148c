// The on-chip memory of a tile, as a function of its extents. The buffers, their memories, and the buffers that share a
// place come from the sketch's placed program for the smallest tile; their growth comes from the footprint of the
// operator's program.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/footprint.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/schedule/operation_shape.h"
#include "loops/ir.h"

namespace dovetail::accel {

// The number of values in an element of the memory.
std::int64_t element_size(isa::Memory memory, const BlockSizes& sizes);

// The loop in the footprint of an operation's program over tiles of channels, which its convolutions share.
inline constexpr const char* kChannelsOfSums = "channels";
schedule::Footprint footprint_of(const loops::Program& program);

// Whether the constants of all channels are loaded at once, because they are small.
bool constants_stay(const loops::Program& program, const Core& config);

// A buffer with its own place on chip.
struct OnChip {
  std::string buffer;  // the buffer of the operator's program that is stored or copied there
  isa::Memory memory;
  bool has_slots;  // another queue fills or drains it during compute: operands of GEMM, and stored results
  bool constants;
  auto operator<=>(const OnChip&) const = default;
};

// The number of slots of a buffer with slots, in each memory.
struct Slots {
  std::int64_t inp = 1, wgt = 1, acc = 1;
  std::int64_t of(isa::Memory memory) const {
    return memory == isa::Memory::inp ? inp : memory == isa::Memory::wgt ? wgt : acc;
  }
};
// The on-chip places of a program that was scheduled from an operator's program, in the order of their names; `found`:
// its find_places().
std::vector<OnChip> on_chip_places(const loops::Program& program, const loops::Program& scheduled,
                                   const Placements& found);

// The extents of the footprint's loops for a tile.
class LoopExtents {
 public:
  LoopExtents(const schedule::Footprint& footprint, const TensorLayout& layout);
  std::span<const std::int64_t> of(const Tile& tile);

 private:
  TensorLayout layout_;
  std::vector<std::int64_t> extents_;
  std::optional<std::size_t> n_, o_, y_, x_, c_;
};

class TileModel {
 public:
  TileModel(const loops::Program& program, std::span<const OnChip> places, const Core& config);

  const schedule::Footprint& footprint() const { return footprint_; }
  // Elements of `memory`. `tile`: by position in footprint().loops().
  std::int64_t needs(isa::Memory memory, std::span<const std::int64_t> tile, const Slots& slots) const;
  bool fits(std::span<const std::int64_t> tile, const Slots& slots) const;
  // The number of slots that fit each memory, up to `most`; nullopt if the tile does not fit.
  std::optional<Slots> slots_that_fit(std::span<const std::int64_t> tile, std::int64_t most) const;
  // The buffer in ACC of the operator's program that is stored.
  const std::string& stored() const { return stored_; }
  // The elements of `memory` that a buffer of the operator's program needs.
  std::int64_t elements(const std::string& buffer, isa::Memory memory, std::span<const std::int64_t> tile) const;

 private:
  // Buffers with the same shape and growth.
  struct Term {
    isa::Memory memory;
    std::vector<schedule::TileExtent> box;
    Shape shape;  // shape of the buffer; a mask keeps a tile's box within it
    bool has_slots;
    std::int64_t buffers = 1;
    bool operator==(const Term&) const = default;
  };

  // The values in the elements of the term. The first two dimensions of a buffer on chip are those of its elements,
  // which may be larger than the part of the buffer that is used: the taps of WINDOW.
  std::int64_t values_of(const Term& term, std::span<const std::int64_t> tile) const;

  schedule::Footprint footprint_;
  Core config_;
  std::vector<Term> terms_;
  std::string stored_;
};

}  // namespace dovetail::accel
