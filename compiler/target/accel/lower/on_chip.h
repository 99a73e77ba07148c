// Places the on-chip buffers of a scheduled program: the part of each buffer that is live at a time, its number of
// slots, and its address in the SRAM.
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

// Why a program has no form as instructions. `where`: "buffer x", "block b", "loop i".
Diagnostic cannot_lower(const loops::Program& program, std::string where, std::string why, std::string hint);

// The last two dimensions of a buffer are one element of its memory. Element index of an access = begin + sum over the
// other dimensions of (index - min) * stride; min is affine in loop variables.
//
// Iterations of the innermost loop around all accesses use the slots in turn, beginning with slot `first`; each
// iteration of a virtual thread has its own slots.
struct Placement {
  isa::Memory memory = isa::Memory::inp;
  std::int64_t base = 0;  // address of slot 0
  std::vector<loops::Affine> min;
  std::vector<std::int64_t> strides;
  std::int64_t elements = 0;            // elements of a slot
  std::int64_t slots = 1, first = 0;    // slots of each context
  std::int64_t contexts = 1;            // virtual threads around all accesses
  std::vector<const loops::For*> home;  // the loops around all accesses, outermost first
  const loops::BufferNode* in_place_of =
      nullptr;                               // it reuses the storage of this operand, which is not needed any more
  bool interleaved = false;                  // the elements between its own are those of another buffer
  const loops::BufferNode* after = nullptr;  // which are the elements before its own

  std::int64_t all_elements() const { return elements * slots * contexts; }
  // The beginning of the slot of an iteration. `values`: values of the loops around all accesses.
  std::int64_t begin(const LoopValues& values) const;
};
using Placements = std::map<const loops::BufferNode*, Placement>;

// The size of each allocation of the program, and its place after the previous ones, from address 0 of each memory,
// even if it does not fit. Results of in-place intrinsics have the place of their operand, and elements that an
// intrinsic reads one after the other are neighbors. Errors: a buffer that is not in a memory of the accelerator, has
// another type or other elements than that memory, or cannot be in place of its operand or between elements of another.
Result<Placements> find_places(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                               const BlockSizes& sizes);

// Checks what the sketches' programs keep by construction. A buffer holds what one iteration of the loops around its
// accesses touches, so no iteration of a loop that moves this part may read what another one wrote. Error: a buffer of
// which that cannot be proven.
Result<void> check_private(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                           const Placements& placements);

// The last accesses to each part of the SRAMs, across the operations of a region in the order of its stream: the part
// that was freed first can be filled first.
class SramHistory {
 public:
  // Records an access to elements [begin, end) of a memory at position `at` of the stream.
  void touch(isa::Memory memory, std::int64_t begin, std::int64_t end, std::int64_t at);
  std::int64_t last_touch(isa::Memory memory, std::int64_t begin, std::int64_t end) const;  // -1: never

 private:
  struct Touch {
    std::int64_t begin, end, at;
  };
  std::map<isa::Memory, std::vector<Touch>> touches_;
};

// Improves the `placements` of find_places, so that buffers that are filled first get the places that are free
// earliest: at the bottom or the top of each memory, beginning with the slot whose last access is oldest. Errors: an
// SRAM overflows.
Result<Placements> place_buffers(const loops::Program& program, Placements placements,
                                 const isa::HardwareConfig& config, const SramHistory& history);

// A line for each buffer, in the order of the program: memory, first element, elements of a slot, slots, and the first
// slot.
std::string places_text(const loops::Program& program, const Placements& placements);

}  // namespace dovetail::accel
