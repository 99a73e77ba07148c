// The targets of the kit, for CompileOptions::available.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/target/accel/target.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/host/target.h"
#include "isa/config.h"

namespace dovetail::test {

// `processor`: a processor class, or "interpreter".
inline std::vector<TargetPointer> kit_targets(const isa::HardwareConfig& hardware = {},
                                              const std::string& processor = "native") {
  constexpr double kClockMhz = 1000;
  TargetPointer cpu = processor == "interpreter" ? cpu::make_target(std::nullopt)
                      : processor == "native"    ? cpu::make_native_target()
                                                 : cpu::make_target(cpu::find_cpu(processor).value());
  return {accel::make_target(hardware, kClockMhz), std::move(cpu), host::make_target()};
}

}  // namespace dovetail::test
