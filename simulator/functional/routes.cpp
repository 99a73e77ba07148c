#include "simulator/functional/routes.h"

#include <bit>

namespace dovetail::simulator {

Routes::Routes() {
  const auto fill = [this](isa::Instruction instruction) {
    for (unsigned bits = 0; bits < 16; ++bits) {
      instruction.flags = {.pop_prev = (bits & 1) != 0,
                           .pop_next = (bits & 2) != 0,
                           .push_prev = (bits & 4) != 0,
                           .push_next = (bits & 8) != 0};
      const isa::TokenUse use = isa::token_use(instruction);
      routes_[kind(instruction)][flag_bits(instruction.flags)] = {use,
                                                                  static_cast<std::uint8_t>(std::popcount(use.pushes))};
    }
  };
  for (unsigned memory = 0; memory < 8; ++memory) {
    isa::Load load;
    load.memory = static_cast<isa::Memory>(memory);
    load.x_size = 1;
    fill({{}, load});
  }
  fill({{}, isa::Store{}});
  fill({{}, isa::Gemm{}});
  fill({{}, isa::Finish{}});
  fill({{}, isa::Alu{}});
  fill({{}, isa::Window{}});
  fill({{}, isa::GemmQ{}});
}

}  // namespace dovetail::simulator
