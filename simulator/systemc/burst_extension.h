// The extension of a burst of the accelerator, in addition to address and data, and the response of a memory that
// models cycles. A memory that does not know the extension leaves `answered` false; its annotated delay then counts.
#pragma once

#include <systemc>
#include <tlm>

#include "simulator/memory/memory.h"

namespace dovetail::simulator::systemc {

struct BurstExtension final : tlm::tlm_extension<BurstExtension> {
  Cycle cycle = 0;  // since the start of the simulation
  Direction direction = Direction::read;
  std::uint32_t beats = 0;
  bool answered = false;
  Answer answer;
  MemorySplit delay;  // of an accepted burst: Memory::explain()

  tlm::tlm_extension_base* clone() const override { return new BurstExtension(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const BurstExtension&>(other); }
};

}  // namespace dovetail::simulator::systemc
