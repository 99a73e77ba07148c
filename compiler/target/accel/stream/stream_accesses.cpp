#include "compiler/target/accel/stream/stream_accesses.h"

#include <span>

#include "isa/spec/alu_ops.h"

namespace dovetail::accel {

isa::DramAccess dram_access(const isa::HardwareConfig& config, const StreamInstruction& item) {
  isa::DramAccess access = isa::dram_access(config, item.instruction);
  if (!access.empty()) access.row_bytes += item.most_offset;
  return access;
}

// Everything that index_uses() depends on, and the kernel.
StreamAccesses::LoopKey StreamAccesses::key_of(const StreamInstruction& item, const isa::UopLoop& loop) {
  LoopKey key{static_cast<std::uint32_t>(item.kernel),
              loop.iter_out,
              loop.iter_in,
              loop.dst_factor_out,
              loop.dst_factor_in,
              loop.src_factor_out,
              loop.src_factor_in};
  if (const isa::ProductLoop* product = isa::product_loop(item.instruction)) {
    const auto* gemm = std::get_if<isa::Gemm>(&item.instruction.body);
    key[7] = product->wgt_factor_out;
    key[8] = product->wgt_factor_in;
    key[9] = 1 + static_cast<std::uint32_t>(item.instruction.body.index()) * 8 +
             (gemm != nullptr && gemm->reset ? 4
              : product->overwrite           ? 2
                                             : 0) +
             (isa::has_epilogue(item.instruction) ? 1 : 0);
  } else {
    const auto& alu = std::get<isa::Alu>(item.instruction.body);
    key[10] = 2 * isa::spec::source_elements(alu) + (isa::spec::reads_table(alu.op) ? 1 : 0);
  }
  return key;
}

std::size_t StreamAccesses::LoopHash::operator()(const LoopKey& key) const {
  std::uint64_t hash = 0;
  for (const std::uint32_t value : key) hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
  return hash ^ hash >> 32;
}

const Accesses& StreamAccesses::of(const StreamInstruction& item) {
  const isa::UopLoop* loop = isa::uop_loop(item.instruction);
  if (loop == nullptr) {
    const auto* load = std::get_if<isa::Load>(&item.instruction.body);
    const bool uops = load != nullptr && load->memory == isa::Memory::uop;
    const auto found = finder_.find(item.instruction, std::nullopt);
    transfer_.sram.assign(found.begin(), found.end());
    transfer_.dram = uops ? isa::DramAccess{} : dram_access(config_, item);
    return transfer_;
  }
  const auto [at, added] = loops_.try_emplace(key_of(item, *loop));
  if (!added) return at->second;
  // The place of the kernel does not matter.
  const std::span<const isa::Uop> kernel = stream_.kernels[static_cast<std::size_t>(item.kernel)];
  isa::Instruction placed = item.instruction;
  std::visit(
      [&](auto& body) {
        if constexpr (std::is_base_of_v<isa::UopLoop, std::remove_cvref_t<decltype(body)>>) {
          body.uop_begin = 0;
          body.uop_end = static_cast<std::uint32_t>(kernel.size() - (isa::has_epilogue(item.instruction) ? 1 : 0));
        }
      },
      placed.body);
  const auto found = finder_.find(placed, kernel);
  at->second.sram.assign(found.begin(), found.end());
  return at->second;
}

}  // namespace dovetail::accel
