#include "simulator/count.h"

#include <bit>

#include "isa/semantics/store.h"
#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

namespace {

std::uint64_t steps(const isa::UopLoop& loop) {
  return std::uint64_t{loop.iter_out} * loop.iter_in * (loop.uop_end - loop.uop_begin);
}

}  // namespace

Counters count(const isa::HardwareConfig& config, std::span<const isa::Instruction> program) {
  Counters counters;
  for (const isa::Instruction& instruction : program) {
    ++counters.instructions[static_cast<std::size_t>(instruction.opcode())];
    const isa::TokenUse use = isa::token_use(instruction);
    ++counters.queue_instructions[isa::index(use.queue)];
    counters.tokens += static_cast<std::uint64_t>(std::popcount(use.pushes));
    if (const auto* load = std::get_if<isa::Load>(&instruction.body)) {
      if (load->x_size == 0) ++counters.nops;
      else
        counters.bytes_loaded[static_cast<std::size_t>(load->memory)] +=
            std::uint64_t{load->y_size} * load->x_size * static_cast<std::uint64_t>(config.element_bytes(load->memory));
    } else if (const auto* store = std::get_if<isa::Store>(&instruction.body)) {
      if (store->x_size == 0) ++counters.nops;
      else counters.bytes_stored += isa::semantics::stored_elements(*store) * static_cast<std::uint64_t>(config.element_bytes(store->memory));
    } else if (const auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) {
      (gemm->reset ? counters.gemm_reset_uops : counters.gemm_uops) += steps(*gemm);
    } else if (const auto* alu = std::get_if<isa::Alu>(&instruction.body)) {
      counters.alu_uops += steps(*alu);
      counters.alu_uops_by_op[static_cast<std::size_t>(alu->op)] += steps(*alu);
    }
  }
  counters.macs = counters.gemm_uops * static_cast<std::uint64_t>(config.macs_per_uop());
  return counters;
}

}  // namespace dovetail::simulator
