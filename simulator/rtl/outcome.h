// Why a launch on the design did not complete: the design's report, compared with the result that follows from the
// launch's instructions alone, worded as by the other engines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/diagnostic.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify/token_use.h"
#include "simulator/rtl/model_api.h"

namespace dovetail::simulator {

// The hint if the design itself is at fault, whatever the program.
inline constexpr std::string_view kDesignAtFault = "this is a bug in hw/rtl; report the program";

struct RtlOutcome {
  dovetail_rtl_result result;
  std::span<const isa::Instruction> launch;
  std::size_t first_index = 0;
  std::span<const std::uint8_t> progress;  // number of events of each instruction so far: issue, start, end
  std::array<std::uint32_t, isa::kTokenFifos> tokens{};  // values of TOKENS_LOAD and TOKENS_STORE
};

// Precondition: the outcome is not DOVETAIL_RTL_DONE. A design that stops at another point than it should, or leaves
// other tokens, is reported as faulty.
Diagnostics explain(const isa::HardwareConfig& config, const RtlOutcome& outcome);

}  // namespace dovetail::simulator
