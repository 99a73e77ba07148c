// Queue and tokens of an instruction by table: isa::token_use, evaluated once per combination instead of once per
// instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/instruction.h"
#include "isa/spec/instructions.h"
#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

struct Route {
  isa::TokenUse use;
  std::uint8_t tokens_pushed = 0;
};

class Routes {
 public:
  Routes();

  const Route& of(const isa::Instruction& instruction) const {
    return routes_[kind(instruction)][flag_bits(instruction.flags)];
  }

 private:
  // The memory of a load (three bits), or the opcode of anything else. NOPs of WGT4 are as those of UOP.
  static std::size_t kind(const isa::Instruction& instruction) {
    if (const auto* load = std::get_if<isa::Load>(&instruction.body))
      return load->memory == isa::Memory::wgt4 && load->x_size == 0 ? 0 : static_cast<std::size_t>(load->memory) & 7;
    return 8 + instruction.body.index();
  }
  static std::size_t flag_bits(const isa::DependencyFlags& flags) {
    return static_cast<std::size_t>(flags.pop_prev) | static_cast<std::size_t>(flags.pop_next) << 1 |
           static_cast<std::size_t>(flags.push_prev) << 2 | static_cast<std::size_t>(flags.push_next) << 3;
  }

  std::array<std::array<Route, 16>, 8 + isa::spec::kInstructions.size()> routes_{};
};

}  // namespace dovetail::simulator
