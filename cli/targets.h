// The targets of the kit, listed: what --target names, what `dovetail doctor` shows, and what is handed to the
// compiler.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/target/accel/counting.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::cli {

// The value of --cpu with which no machine code is made, nor run.
inline constexpr std::string_view kInterpreter = "interpreter";

// What the command line says of targets.
struct TargetArguments {
  isa::HardwareConfig hardware = {};                           // of the accelerator
  double clock_mhz = 1000;                                     // of the accelerator
  std::string cpu = "native";                                  // processor class of the CPU's kernels, or kInterpreter
  std::string gpu = std::string(cuda::kDefaultArchitectures);  // architectures of the GPU's kernels
  bool tf32 = false;                                           // of those kernels
  accel::Counting counting = {};                               // of the accelerator's schedules
  bool check_bounds = false;                                   // of the CPU's kernels
};

struct TargetRow {
  std::string_view name;
  std::string_view description;
  // `asked`: the user has named the target.
  Result<TargetPointer> (*make)(const TargetArguments& arguments, bool asked);
  // Whether code for it runs on this machine; null: everywhere. Error: what is missing, and what brings it.
  Result<void> (*check_here)() = nullptr;
  std::string_view beside = {};  // targets that run what it leaves, as in --target; empty: it takes any operator
};
// In the order in which users see them.
std::span<const TargetRow> target_table();
bool is_available(const TargetRow& row);
std::vector<std::string> target_names();
// Why it is not available here, and what brings it; empty where it is.
std::string missing(const TargetRow& row);

// All targets of this version. Error: a processor class that there is not.
Result<std::vector<TargetPointer>> make_targets(const TargetArguments& arguments, std::span<const std::string> asked);

// "accel,cpu": names of targets that this version has, each once, in order of preference.
Result<std::vector<std::string>> parse_targets(std::string_view option, std::string_view text);

}  // namespace dovetail::cli
