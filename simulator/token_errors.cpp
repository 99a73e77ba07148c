#include "simulator/token_errors.h"

#include <fmt/format.h>

#include <utility>

#include "isa/verify/token_faults.h"

namespace dovetail::simulator {

Diagnostics token_errors(const isa::HardwareConfig& config, std::span<const isa::Instruction> launch,
                         std::size_t first_index) {
  Diagnostics errors;
  for (isa::TokenFault& fault : isa::token_faults(config, launch, first_index)) {
    errors.push_back(std::move(fault.diagnostic));
    errors.back().where = fmt::format("instruction {}", fault.instruction);
  }
  return errors;
}

}  // namespace dovetail::simulator
