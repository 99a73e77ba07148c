#include "explore/area/chip_memories.h"

namespace dovetail::explore {

using isa::HardwareConfig;
using isa::Memory;

std::vector<MemoryMacro> memories_of(const HardwareConfig& hardware) {
  const std::int64_t acc_words = hardware.depth(Memory::acc), lanes_out = hardware.batch * hardware.block_out;
  const std::int64_t command = 8 * hardware.instruction_bytes() + 32, read_beat = 8 * hardware.bus_bytes + 2;
  const std::int64_t beat = 8 * hardware.bus_bytes;
  std::vector<MemoryMacro> tables;  // a copy for each lane
  if (hardware.table)
    tables.assign(static_cast<std::size_t>(lanes_out), {"tab", 8 * hardware.element_bytes(Memory::tab) / beat, beat});
  std::vector<MemoryMacro> all{{"uop", hardware.depth(Memory::uop), 8 * hardware.uop_bytes()},
                               {"inp", hardware.depth(Memory::inp), 8 * hardware.batch * hardware.block_in},
                               {"wgt", hardware.depth(Memory::wgt), 8 * hardware.block_in * hardware.block_out},
                               {"acc", acc_words, 32 * lanes_out},
                               {"out", acc_words, (hardware.saturate ? 16 : 8) * lanes_out},
                               {"load commands", hardware.command_queue_depth, command, true},
                               {"compute commands", hardware.command_queue_depth, command, true},
                               {"store commands", hardware.command_queue_depth, command, true},
                               {"fetch beats", hardware.outstanding_beats, read_beat, true},
                               {"load beats", hardware.outstanding_beats, read_beat, true},
                               {"compute beats", hardware.outstanding_beats, read_beat, true},
                               {"store beats", hardware.outstanding_beats, 9 * hardware.bus_bytes, true}};
  all.insert(all.end(), tables.begin(), tables.end());
  return all;
}

}  // namespace dovetail::explore
