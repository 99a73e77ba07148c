// The last accesses to each byte of DRAM within one launch. Only STORE writes, and stores are ordered among themselves,
// so each byte records one writer, and one reader per reading queue. LOAD UOP is not recorded: a STORE to its bytes is
// a finding regardless of order.
#pragma once

#include <cstdint>
#include <span>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify/accesses.h"
#include "isa/verify/clock.h"
#include "isa/verify/interval_map.h"
#include "isa/verify/shared_bytes.h"

namespace dovetail::isa {

class DramShadow {
 public:
  // Clears the state, and scans the launch for the locations that matter.
  void begin_launch(const HardwareConfig& config, std::span<const Instruction> launch);

  void access(const DramAccess& access, const Event& event, ConflictList& conflicts);

 private:
  struct State {
    Position stored = 0, loaded = 0, computed = 0;  // the last access by the store, load and compute queue
  };

  void read(Extent row, const Event& event, ConflictList& conflicts);
  void write(Extent row, const Event& event, ConflictList& conflicts);

  IntervalMap<State> bytes_;
  SharedBytes shared_;
};

}  // namespace dovetail::isa
