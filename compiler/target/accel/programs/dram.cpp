#include "compiler/target/accel/programs/dram.h"

#include <algorithm>

#include "isa/spec/range.h"

namespace dovetail::accel {

std::uint64_t end_of_memory(const Core& config) {
  std::int64_t smallest = config.uop_bytes();
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc, isa::Memory::out})
    smallest = std::min(smallest, config.element_bytes(memory));
  if (config.weights4) smallest = std::min(smallest, config.element_bytes(isa::Memory::wgt4));
  const auto elements =
      static_cast<std::uint64_t>(isa::spec::range_of<isa::Load, &isa::Load::dram_base>(config).most) + 1;
  return std::min(std::uint64_t{1} << config.address_bits, elements * static_cast<std::uint64_t>(smallest));
}

bool are_int4(const NdArray& weights, const Core& config) {
  return config.weights4 &&
         std::ranges::all_of(weights.data<std::int8_t>(), [](std::int8_t value) { return value >= -8 && value <= 7; });
}

NdArray pack_int4(const NdArray& weights) {
  const auto values = weights.data<std::int8_t>();
  NdArray pairs(DType::uint8, {weights.count() / 2});
  for (std::size_t i = 0; i < values.size(); i += 2)
    pairs.data<std::uint8_t>()[i / 2] = static_cast<std::uint8_t>((values[i] & 15) | (values[i + 1] & 15) << 4);
  return pairs;
}

}  // namespace dovetail::accel
