#include "compiler/target/accel/programs/dram.h"

#include <algorithm>

#include "isa/spec/range.h"

namespace dovetail::accel {

std::uint64_t end_of_memory(const isa::HardwareConfig& config) {
  std::int64_t smallest = config.uop_bytes();
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc, isa::Memory::out})
    smallest = std::min(smallest, config.element_bytes(memory));
  if (config.weights4) smallest = std::min(smallest, config.element_bytes(isa::Memory::wgt4));
  const auto elements =
      static_cast<std::uint64_t>(isa::spec::range_of<isa::Load, &isa::Load::dram_base>(config).most) + 1;
  return std::min(std::uint64_t{1} << config.address_bits, elements * static_cast<std::uint64_t>(smallest));
}

}  // namespace dovetail::accel
