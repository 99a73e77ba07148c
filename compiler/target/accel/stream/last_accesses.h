// The last accesses to each element of SRAM and each byte of DRAM, in the order of the stream, to find the conflicts of
// the next instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/target/accel/stream/last_touch.h"
#include "compiler/target/accel/stream/stream_accesses.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify/shared_bytes.h"
#include "isa/verify/token_use.h"

namespace dovetail::accel {

// By isa::Queue: an instruction of that queue, for example the last one known to be done; kNone: none.
using Clock = std::array<int, isa::kQueues>;
inline constexpr Clock kNothing{kNone, kNone, kNone};

class LastAccesses {
 public:
  // `stream` is scanned for the bytes that it both loads and stores.
  LastAccesses(const isa::HardwareConfig& config, const Stream& stream);

  // Forgets all records. The stream may have another order afterwards, or smaller pieces.
  void clear();
  // For each other queue the latest instruction that conflicts with `accesses`, if it is later than `known`.
  Clock conflicts(isa::Queue queue, const Accesses& accesses, const Clock& known) const;
  // Precondition: `instruction` increases from call to call.
  void record(isa::Queue queue, const Accesses& accesses, int instruction);

 private:
  // Each SRAM is written by one queue and read by at most one other queue.
  struct Sram {
    isa::Queue writer, reader;
    LastTouch written, read;                      // by element: the last instruction of `writer`, of `reader`
    int last_written = kNone, last_read = kNone;  // over all elements
  };
  // The last accesses to those bytes of DRAM that are both loaded and stored. A store writes; loads and compute
  // instructions read.
  struct Dram {
    std::uint64_t begin = 0, granule = 1;      // bytes; all accesses are whole granules
    std::array<LastTouch, isa::kQueues> last;  // by queue and granule
    isa::Extent granules(const isa::Extent& bytes) const {
      return {(bytes.begin - begin) / granule, (bytes.end - begin) / granule};
    }
  };

  static std::size_t place(isa::Memory memory) {
    return memory == isa::Memory::inp ? 0 : memory == isa::Memory::wgt ? 1 : 2;
  }

  std::array<Sram, 3> srams_;
  isa::SharedBytes shared_;
  Dram dram_;
};

}  // namespace dovetail::accel
