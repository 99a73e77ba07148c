// The targets of the kit, listed: what users name, what `dovetail doctor` shows, and what is handed to the compiler.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/code/target_facts.h"
#include "compiler/target/accel/counting.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::driver {

// The processor class with which no machine code is made, nor run.
inline constexpr std::string_view kInterpreter = "interpreter";

// What users may say of targets.
struct TargetOptions {
  isa::HardwareConfig hardware = {};                           // of the accelerator
  double clock_mhz = 1000;                                     // of the accelerator
  std::string cpu = "native";                                  // processor class of the CPU's kernels, or kInterpreter
  std::string gpu = std::string(cuda::kDefaultArchitectures);  // architectures of the GPU's kernels
  bool tf32 = false;                                           // of those kernels
  accel::Counting counting = {};                               // of the accelerator's schedules
  bool check_bounds = false;                                   // of the CPU's kernels
};

struct TargetRow {
  const bundle::TargetFacts& facts;
  std::string_view description;
  // `asked`: the user has named the target.
  Result<TargetPointer> (*make)(const TargetOptions& options, bool asked);
  // Whether code for it runs on this machine; null: everywhere. Error: what is missing, and what brings it.
  Result<void> (*check_here)() = nullptr;
  // Targets that run what it leaves, with commas between; empty: it takes any operator.
  std::string_view fallback_targets = {};
  // Its code follows from this program and its libraries alone, so that --cache may keep it: no compiler is loaded
  // later.
  bool made_by_program = false;

  std::string_view name() const { return facts.name; }
};
// In the order in which users see them.
std::span<const TargetRow> target_table();
bool is_available(const TargetRow& row);
std::vector<std::string> target_names();
// Why it is not available here, and what brings it; empty where it is.
std::string missing(const TargetRow& row);

// All targets of this version. Error: unknown processor class.
Result<std::vector<TargetPointer>> make_targets(const TargetOptions& options, std::span<const std::string> asked);

// Error: a name that is not a target's, or twice. `source`: what gave the names, in diagnostics.
Result<void> check_targets(std::string_view source, std::span<const std::string> names);

}  // namespace dovetail::driver
