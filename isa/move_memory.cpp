#include "isa/move_memory.h"

#include <type_traits>
#include <variant>

#include "isa/spec/memories.h"

namespace dovetail::isa {

void move_address(const HardwareConfig& config, Instruction& instruction, std::uint64_t distance) {
  std::visit(
      [&]<typename Body>(Body& body) {
        if constexpr (std::is_base_of_v<Transfer, Body>) {
          if (body.x_size == 0 || !spec::is_memory(body.memory)) return;  // moves no data
          const auto element = static_cast<std::uint64_t>(config.element_bytes(body.memory));
          body.dram_base = (body.dram_base * element + distance) / element;
        }
      },
      instruction.body);
}

}  // namespace dovetail::isa
