#include "tests/generator/synchronize.h"

#include "isa/codec.h"
#include "isa/semantics/load.h"
#include "tests/generator/synchronizer.h"
#include "tests/generator/touches.h"

namespace dovetail::test {

std::vector<isa::Instruction> synchronized(const isa::HardwareConfig& config, std::span<const isa::Instruction> program,
                                           std::uint64_t dram_base, std::span<const std::byte> dram) {
  const isa::Codec codec(config);
  const auto uop_bytes = static_cast<std::size_t>(config.uop_bytes());
  std::vector<isa::Uop> uops(static_cast<std::size_t>(config.depth(isa::Memory::uop)));
  Synchronizer synchronizer(config, {dram_base, dram_base + dram.size()}, 0, 1);
  for (const isa::Instruction& instruction : program) {
    synchronizer.append(instruction, touches(config, instruction, uops));
    const auto* load = std::get_if<isa::Load>(&instruction.body);
    if (load == nullptr || load->memory != isa::Memory::uop) continue;
    isa::semantics::for_each_loaded_run(
        *load,
        [&](std::uint64_t to, std::uint64_t count) {
          std::fill_n(uops.begin() + static_cast<std::ptrdiff_t>(to), count, isa::Uop{});
        },
        [&](std::uint64_t to, std::uint64_t from, std::uint64_t count) {
          for (std::uint64_t i = 0; i < count; ++i)
            uops[to + i] = codec.decode_uop(dram.subspan((from + i) * uop_bytes - dram_base, uop_bytes));
        });
  }
  synchronizer.end_launch();
  return synchronizer.take_program();
}

}  // namespace dovetail::test
