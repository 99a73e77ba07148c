// On-chip buffers of a scheduled program: which part of each is alive at a time, how many of it are kept, and where
// they are in their SRAM.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/target/accel/programs/layout.h"
#include "isa/config.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"
#include "loops/simplify.h"

namespace dovetail::accel {

using LoopValues = std::map<const loops::VarNode*, std::int64_t>;

// The last two dimensions of a buffer are one element of its memory. Element index of an access = begin + sum over the
// other dimensions of (index - min) * stride; min is affine in loop variables.
//
// Iterations of the innermost loop around all accesses take the slots in turn, from slot `first` on; each iteration of
// a virtual thread has its own slots.
struct Placement {
  isa::Memory memory = isa::Memory::inp;
  std::int64_t base = 0;  // of slot 0
  std::vector<loops::Affine> min;
  std::vector<std::int64_t> strides;
  std::int64_t elements = 0;            // of a slot
  std::int64_t slots = 1, first = 0;    // of each context
  std::int64_t contexts = 1;            // virtual threads around all accesses
  std::vector<const loops::For*> home;  // the loops around all accesses, outermost first
  const loops::BufferNode* in_place_of =
      nullptr;  // it is stored where this operand is stored, which is not needed any more

  std::int64_t all_elements() const { return elements * slots * contexts; }
  // Where the slot of that iteration begins. `values`: of the loops around all accesses.
  std::int64_t begin(const LoopValues& values) const;
};
using Placements = std::map<const loops::BufferNode*, Placement>;

// What each allocation of the program needs, and a place for it after those before it, from address 0 of each memory
// on, whether it fits or not; results of in-place intrinsics are stored where their operand is stored.
Placements find_places(const loops::Program& program, const loops::IntrinsicTable& intrinsics, const BlockSizes& sizes);

// Who touched which part of the SRAMs last: what was freed first can be filled again first. Across the operations of a
// region, in the order of its stream.
class SramHistory {
 public:
  // Elements [begin, end) of a memory are touched at that place of the stream.
  void touch(isa::Memory memory, std::int64_t begin, std::int64_t end, std::int64_t at);
  std::int64_t last_touch(isa::Memory memory, std::int64_t begin, std::int64_t end) const;  // -1: never

 private:
  struct Touch {
    std::int64_t begin, end, at;
  };
  std::map<isa::Memory, std::vector<Touch>> touches_;
};

// The same as find_places, which found `placements`, chosen so that what is filled first is stored where it may be
// filled earliest: at the bottom or the top of each memory, beginning with the slot that was touched the longest time
// ago. Errors: an SRAM overflows.
Result<Placements> place_buffers(const loops::Program& program, Placements placements,
                                 const isa::HardwareConfig& config, const SramHistory& history);

// A line for each buffer, in the order of the program: memory, first element, elements of a slot, slots, and which is
// the first.
std::string places_text(const loops::Program& program, const Placements& placements);

}  // namespace dovetail::accel
