#include "compiler/target/accel/lower/lowering_facts.h"

#include "compiler/target/accel/programs/intrinsics.h"
#include "isa/semantics/window.h"

namespace dovetail::accel {

LoweringFacts::LoweringFacts(const isa::HardwareConfig& config)
    : overwrite(config.overwrite),
      saturate(config.saturate),
      epilogue(config.epilogue),
      push_only(isa::semantics::push_only(config)),
      most_uops(most_kernel_uops(config)),
      most_transferred(isa::spec::range_of<isa::Load, &isa::Load::x_size>(config).most),
      most_stride(isa::spec::range_of<isa::Load, &isa::Load::x_stride>(config).most),
      most_pad(isa::spec::range_of<isa::Load, &isa::Load::x_pad_0>(config).most),
      most_trips(isa::spec::range_of<isa::Gemm, &isa::Gemm::iter_out>(config).most),
      immediate(isa::spec::range_of<isa::Alu, &isa::Alu::imm>(config)) {
  for (std::size_t memory = 0; memory < element_bytes.size(); ++memory)
    element_bytes[memory] = static_cast<std::uint64_t>(config.element_bytes(static_cast<isa::Memory>(memory)));
}

}  // namespace dovetail::accel
