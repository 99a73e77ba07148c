#include "isa/offset.h"

#include <type_traits>

#include <fmt/format.h>

#include "isa/semantics/offset.h"
#include "isa/spec/memories.h"

namespace dovetail::isa {

std::vector<Instruction> at_offset(const HardwareConfig& config, std::span<const Instruction> program,
                                   std::uint64_t offset) {
  std::vector<Instruction> moved(program.begin(), program.end());
  for (Instruction& instruction : moved)
    std::visit(
        [&]<typename Body>(Body& body) {
          if constexpr (std::is_base_of_v<Transfer, Body>) {
            if (body.x_size == 0 || !spec::is_memory(body.memory)) return;  // moves no data
            const auto element_bytes = static_cast<std::uint64_t>(config.element_bytes(body.memory));
            body.dram_base = semantics::dram_begin(body, element_bytes, offset);
            body.offset = false;
          }
        },
        instruction.body);
  return moved;
}

Result<void> check_offset(const HardwareConfig& config, std::uint64_t offset) {
  if (offset == 0) return {};
  if (!config.offset)
    return Diagnostic{"cannot set the register OFFSET", config.name, "the extension `offset` is off",
                      "set \"offset\": true in the configuration"};
  if (offset >> config.address_bits != 0)
    return Diagnostic{
        "cannot set the register OFFSET", config.name,
        fmt::format("{:#x} >= 2^{}, the first address that the design cannot reach", offset, config.address_bits),
        "lower the offset, or raise `address_bits`"};
  return {};
}

}  // namespace dovetail::isa
