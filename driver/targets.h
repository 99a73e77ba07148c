// The list of the kit's targets: for the names on the command line, for `dovetail doctor`, and for the compiler.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/code/target_facts.h"
#include "compiler/target/accel/counting.h"
#include "compiler/target/accel/division.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::driver {

// The processor class without machine code.
inline constexpr std::string_view kInterpreter = "interpreter";
// The same with kernels for one scalar core (compiler/target/portable).
inline constexpr std::string_view kPortable = "portable";

// Processors that load bundles, for --cpu (cpu::cpu_names).
std::vector<std::string> bundle_processors();

// Options of targets.
struct TargetOptions {
  isa::HardwareConfig hardware = {};  // configuration of the accelerator
  double clock_mhz = 1000;            // clock of the accelerator
  std::string cpu = "native";         // processor class of the CPU's kernels, kInterpreter or kPortable
  std::string gpu = std::string(cuda::kDefaultArchitectures);  // architectures of the GPU's kernels
  bool tf32 = false;                                           // whether these kernels may use TF32
  accel::Counting counting = {};                               // counting cycles of the accelerator's schedules
  accel::Division division = {};                               // between several accelerators
  bool check_bounds = false;                                   // whether the CPU's kernels check addresses
  std::string exported = {};  // begins the symbols of the CPU's kernels, which are then those of an exported program
};

struct TargetRow {
  const bundle::TargetFacts& facts;
  std::string_view description;
  // `asked`: the user has named the target.
  Result<TargetPointer> (*make)(const TargetOptions& options, bool asked);
  // Checks whether code for the target runs on this machine; null: it runs everywhere. Error: what is missing, and how
  // to install it.
  Result<void> (*check_here)() = nullptr;
  // Targets that run the operators that this target does not support, separated by commas; empty: it supports all
  // operators.
  std::string_view fallback_targets = {};
  // Whether the target's code depends only on this program and its libraries (no compiler is loaded at run time), so
  // that --cache may store it.
  bool made_by_program = false;

  std::string_view name() const { return facts.name; }
};
// The targets in the order in which they are listed.
std::span<const TargetRow> target_table();
bool is_available(const TargetRow& row);
std::vector<std::string> target_names();
// Why the target is not available here, and how to install it; empty if it is available.
std::string missing(const TargetRow& row);

// The GPU for which kernels are made: of `options.gpu`, adapted to the device of this machine. Errors: an invalid list;
// this machine cannot compile for GPUs.
Result<cuda::Gpu> gpu_of(const TargetOptions& options);

// All targets of this version. Error: unknown processor class.
Result<std::vector<TargetPointer>> make_targets(const TargetOptions& options, std::span<const std::string> asked);

// Error: a name that is not a target, or occurs twice. `source`: the origin of the names, for diagnostics.
Result<void> check_targets(std::string_view source, std::span<const std::string> names);

}  // namespace dovetail::driver
