#include "simulator/cycle/count.h"

#include <algorithm>

#include "isa/semantics/epilogue.h"
#include "isa/semantics/uop_loop.h"
#include "isa/semantics/window.h"

namespace dovetail::simulator {

namespace {

std::uint64_t bytes_of(const isa::HardwareConfig& config, const isa::Transfer& transfer) {
  return std::uint64_t{transfer.y_size} * transfer.x_size *
         static_cast<std::uint64_t>(config.element_bytes(transfer.memory));
}

// The number of steps that only push (WINDOW). Precondition: there are steps, and their micro-ops are within the
// memory.
std::uint64_t push_steps(const isa::HardwareConfig& config, const isa::Window& window, std::span<const isa::Uop> uops) {
  const std::uint32_t push_only = isa::semantics::push_only(config);
  const auto kernel = uops.subspan(window.uop_begin, window.uop_end - window.uop_begin);
  const auto pushes = std::ranges::count(kernel, push_only, &isa::Uop::wgt);
  return std::uint64_t{window.iter_out} * window.iter_in * static_cast<std::uint64_t>(pushes);
}

}  // namespace

void count(const isa::HardwareConfig& config, const isa::Instruction& instruction, const Route& route,
           std::span<const isa::Uop> uops, Counters& counters) {
  ++counters.instructions[static_cast<std::size_t>(instruction.opcode())];
  ++counters.queue_instructions[isa::index(route.use.queue)];
  counters.tokens += route.tokens_pushed;
  if (const auto* load = std::get_if<isa::Load>(&instruction.body)) {
    if (load->x_size == 0) ++counters.nops;
    else counters.bytes_loaded[static_cast<std::size_t>(load->memory)] += bytes_of(config, *load);
  } else if (const auto* store = std::get_if<isa::Store>(&instruction.body)) {
    if (store->x_size == 0) ++counters.nops;
    else counters.bytes_stored += bytes_of(config, *store);
  } else if (const isa::ProductLoop* product = isa::product_loop(instruction)) {
    const auto* gemm = std::get_if<isa::Gemm>(&instruction.body);
    const auto* window = std::get_if<isa::Window>(&instruction.body);
    const std::uint64_t steps = isa::semantics::step_count(*product);
    if (gemm != nullptr && gemm->reset) {
      counters.gemm_reset_uops += steps;
      return;
    }
    const std::uint64_t pushes =
        window == nullptr || steps == 0 || uops.empty() ? 0 : push_steps(config, *window, uops);
    (window == nullptr ? counters.gemm_uops : counters.window_uops) += steps - pushes;
    counters.window_pushes += pushes;
    counters.macs += (steps - pushes) * static_cast<std::uint64_t>(config.macs_per_uop());
    if (!isa::has_epilogue(instruction) || steps == 0) return;
    ++counters.epilogue_parameters;
    counters.epilogue_uops += steps - pushes;
    if (config.table && !uops.empty() && isa::semantics::looks_up(uops[product->uop_end]))
      counters.epilogue_lookups += steps - pushes;
  } else if (const auto* alu = std::get_if<isa::Alu>(&instruction.body)) {
    counters.alu_uops += isa::semantics::step_count(*alu);
    counters.alu_uops_by_op[static_cast<std::size_t>(alu->op)] += isa::semantics::step_count(*alu);
  }
}

}  // namespace dovetail::simulator
