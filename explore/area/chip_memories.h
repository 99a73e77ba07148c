// The memories of a design point: SRAMs, queues, beat buffers, tables.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/config.h"

namespace dovetail::explore {

// A memory with a read and a write port.
struct MemoryMacro {
  std::string_view name;
  std::int64_t words = 0, bits = 0;  // bits per word
  bool visible_head = false;         // a queue, whose next word is read in the same cycle
  std::int64_t size() const { return words * bits; }
};
// The SRAMs, then the queues and beat buffers, without small ones that are counted as flip-flops.
std::vector<MemoryMacro> memories_of(const isa::HardwareConfig& hardware);

}  // namespace dovetail::explore
