// What a tile needs on chip, as a function of its extents. Which buffers there are, in which memory, and which share a
// place is read off the program that the sketch makes of the smallest tile, placed; how they grow is the footprint of
// the operator's program.
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
#include "compiler/target/accel/schedule/operation_shape.h"
#include "isa/config.h"
#include "loops/ir.h"

namespace dovetail::accel {

// Numbers that an element of the memory holds.
std::int64_t element_size(isa::Memory memory, const BlockSizes& sizes);

// The footprint of an operation's program: its convolutions share their tiles of channels, the extent of this loop.
inline constexpr const char* kChannelsOfSums = "channels";
schedule::Footprint footprint_of(const loops::Program& program);

// Whether the constants of all channels are loaded at once: they take little room.
bool constants_stay(const loops::Program& program, const isa::HardwareConfig& config);

// Its own place on chip.
struct OnChip {
  std::string buffer;  // of the operator's program, which is there or is copied there
  isa::Memory memory;
  bool has_slots;  // what a queue fills or drains alongside the compute queue: operands of GEMM, and what is stored
  bool constants;
  auto operator<=>(const OnChip&) const = default;
};

// How many places a buffer has that takes slots, in each memory.
struct Slots {
  std::int64_t inp = 1, wgt = 1, acc = 1;
  std::int64_t of(isa::Memory memory) const {
    return memory == isa::Memory::inp ? inp : memory == isa::Memory::wgt ? wgt : acc;
  }
};
// Those that a program takes which was scheduled from an operator's, in the order of their names; `found`:
// find_places() of it.
std::vector<OnChip> on_chip_places(const loops::Program& program, const loops::Program& scheduled,
                                   const Placements& found);

// Extents of the footprint's loops, as a tile has them.
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
  TileModel(const loops::Program& program, std::span<const OnChip> places, const isa::HardwareConfig& config);

  const schedule::Footprint& footprint() const { return footprint_; }
  // Elements of `memory`. `tile`: by position in footprint().loops().
  std::int64_t needs(isa::Memory memory, std::span<const std::int64_t> tile, const Slots& slots) const;
  bool fits(std::span<const std::int64_t> tile, const Slots& slots) const;
  // How many slots there is room for in each memory, `most` at most; nullopt where the tile does not fit.
  std::optional<Slots> slots_that_fit(std::span<const std::int64_t> tile, std::int64_t most) const;
  // The buffer of the operator's program in ACC from which is stored.
  const std::string& stored() const { return stored_; }
  // Elements of `memory` that a buffer of the operator's program takes.
  std::int64_t elements(const std::string& buffer, isa::Memory memory, std::span<const std::int64_t> tile) const;

 private:
  // Buffers of one form.
  struct Term {
    isa::Memory memory;
    std::vector<schedule::TileExtent> box;
    Shape shape;  // of the buffer; a mask keeps a tile's box within it
    bool has_slots;
    std::int64_t buffers = 1;
    bool operator==(const Term&) const = default;
  };

  static std::int64_t elements_of(const Term& term, std::span<const std::int64_t> tile);

  schedule::Footprint footprint_;
  isa::HardwareConfig config_;
  std::vector<Term> terms_;
  std::string stored_;
};

}  // namespace dovetail::accel
