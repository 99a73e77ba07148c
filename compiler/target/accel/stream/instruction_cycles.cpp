#include "compiler/target/accel/stream/instruction_cycles.h"

#include <algorithm>

#include "isa/semantics/load.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/timing.h"

namespace dovetail::accel {

namespace {

// Slots (docs/reference/timing.md, section 3) as if every row began with a beat: one for each beat, or for each element
// if several share a beat; pads need one for each element.
std::uint64_t slots(const isa::HardwareConfig& config, const isa::Transfer& transfer) {
  if (transfer.x_size == 0) return 0;
  const auto beats =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, config.element_bytes(transfer.memory) / config.bus_bytes));
  const std::uint64_t data = std::uint64_t{transfer.y_size} * transfer.x_size;
  return isa::semantics::loaded_elements(transfer) - data + data * beats;
}

}  // namespace

std::uint64_t instruction_cycles(const isa::HardwareConfig& config, const Stream& stream,
                                 const StreamInstruction& item) {
  const auto steps = [&](const isa::UopLoop& loop) {
    return std::uint64_t{loop.iter_out} * loop.iter_in * stream.kernels[static_cast<std::size_t>(item.kernel)].size();
  };
  const auto& body = item.instruction.body;
  if (const auto* load = std::get_if<isa::Load>(&body)) return slots(config, *load);
  if (const auto* store = std::get_if<isa::Store>(&body)) return slots(config, *store);
  if (const isa::ProductLoop* product = isa::product_loop(item.instruction)) {
    const std::uint64_t parameters = isa::has_epilogue(item.instruction) ? 1 : 0,
                        trips = std::uint64_t{product->iter_out} * product->iter_in;
    return (steps(*product) - parameters * trips) * static_cast<std::uint64_t>(isa::spec::kGemmCyclesPerUop.value) +
           parameters * static_cast<std::uint64_t>(isa::spec::kEpilogueParameterCycles.value);
  }
  if (const auto* alu = std::get_if<isa::Alu>(&body)) {
    const std::uint64_t first = isa::spec::step_cycles(*alu, config.batch);
    if (isa::spec::source_elements(*alu) == 0) return steps(*alu) * first;
    // Constants of the channel: loops along which they do not move repeat their element.
    const bool one = stream.kernels[static_cast<std::size_t>(item.kernel)].size() == 1;
    const std::uint64_t repeated = one ? static_cast<std::uint64_t>(isa::spec::kAluCyclesPerUopRepeated.value) : first;
    const bool stays_in = alu->src_factor_in == 0 || alu->iter_in == 1, stays_out = alu->src_factor_out == 0;
    const std::uint64_t others = stays_in ? (stays_out ? 1 : alu->iter_out) : steps(*alu),
                        vectors = std::min(steps(*alu), others);
    return vectors * first + (steps(*alu) - vectors) * repeated;
  }
  return 0;
}

}  // namespace dovetail::accel
