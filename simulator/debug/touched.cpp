#include "simulator/debug/touched.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <variant>

#include "isa/spec/memories.h"

namespace dovetail::simulator {

namespace {

// The element range that a transfer fills or reads on chip, pads included.
isa::SramAccess transfer_access(const isa::HardwareConfig& config, const isa::Instruction& instruction) {
  isa::SramAccess access;
  const bool is_store = instruction.opcode() == isa::Opcode::store;
  const isa::Transfer& transfer = is_store ? static_cast<const isa::Transfer&>(std::get<isa::Store>(instruction.body))
                                           : std::get<isa::Load>(instruction.body);
  access.memory = isa::spec::is_memory(transfer.memory) ? isa::spec::info(transfer.memory).buffer : transfer.memory;
  access.kind = is_store ? isa::AccessKind::read : isa::AccessKind::write;
  const std::uint64_t rows = std::uint64_t{transfer.y_size} + transfer.y_pad_0 + transfer.y_pad_1;
  const std::uint64_t columns = std::uint64_t{transfer.x_size} + transfer.x_pad_0 + transfer.x_pad_1;
  const auto depth = static_cast<std::uint64_t>(config.depth(access.memory));
  const std::uint64_t end = std::min(depth, transfer.sram_base + rows * columns);
  if (transfer.x_size != 0 && transfer.sram_base < end) access.runs = {{transfer.sram_base, end}};
  return access;
}

}  // namespace

Touched touched_by(const isa::HardwareConfig& config, const isa::Instruction& what, const SramReader& sram) {
  Touched touched{{}, isa::dram_access(config, what)};
  if (what.opcode() == isa::Opcode::load || what.opcode() == isa::Opcode::store) {
    touched.sram.push_back(transfer_access(config, what));
    return touched;
  }
  const isa::UopLoop* loop = isa::uop_loop(what);
  if (loop == nullptr || isa::zero_trip(*loop)) return touched;
  const auto depth = static_cast<std::uint32_t>(config.depth(isa::Memory::uop));
  const std::uint32_t begin = std::min(loop->uop_begin, depth), end = std::min(isa::end_of_uops(what), depth);
  const NdArray raw = sram.read_sram(isa::Memory::uop, begin, end - begin);
  std::vector<isa::Uop> kernel;
  for (std::size_t i = 0; i < end - begin; ++i) {
    const auto* fields = raw.data<std::uint32_t>().data() + 3 * i;
    kernel.push_back({fields[0], fields[1], fields[2]});
  }
  isa::AccessFinder finder(config);
  for (const isa::SramAccess& access : finder.find(what, std::span<const isa::Uop>(kernel)))
    touched.sram.push_back(access);
  return touched;
}

}  // namespace dovetail::simulator
