// The back ends of the kit, listed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/cpu/cpu.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail {

struct TargetOptions {
  isa::HardwareConfig hardware;       // of accel
  double clock_mhz = 1000;            // of accel, in estimates of seconds
  std::optional<cpu::Cpu> processor;  // of cpu; empty: its loop programs are interpreted
  bool fuse = true;                   // nodes to kernels, on cpu
};
// In the order in which they are told to users.
std::vector<TargetPointer> built_in_targets(const TargetOptions& options);
std::vector<std::string_view> built_in_target_names();

}  // namespace dovetail
