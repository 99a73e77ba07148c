// How the registers of a design report that a launch failed.
#pragma once

#include <array>
#include <cstddef>

#include "isa/spec/registers.h"
#include "isa/verify/token_use.h"

namespace dovetail::simulator {

struct LaunchError {
  isa::spec::ErrorCode code = isa::spec::ErrorCode::none;
  std::size_t instruction = 0;                         // ERROR_INSTRUCTION
  std::array<std::size_t, isa::kTokenFifos> tokens{};  // in each FIFO, if the code is leftover_tokens
};

}  // namespace dovetail::simulator
