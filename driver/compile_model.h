// Compiles a model into a bundle: options and results.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/target.h"
#include "driver/model_source.h"
#include "driver/system.h"
#include "isa/config.h"

namespace dovetail::driver {

inline constexpr const char* kDefaultHardware = "1x16x16";
inline constexpr std::int64_t kMostCountedCandidates = 10'000;

struct ModelOptions {
  std::string path = {};                  // a file of a model, or a bundle; empty: `layers`
  std::vector<std::string> layers = {};   // shapes, as in ModelSource
  ModelPart part = {};                    // of the model
  std::vector<std::string> targets = {};  // in order of preference
  // The accelerator, in the form of isa::load_machine. Absent: kDefaultHardware, or the hardware of the bundle.
  std::optional<std::string> hardware = {};
  SystemChanges system = {};                                   // its memory also selects recorded schedules
  std::string cpu = "native";                                  // a processor class, kInterpreter or kPortable
  std::string gpu = std::string(cuda::kDefaultArchitectures);  // in the form of cuda::parse_gpu
  bool tf32 = false, check_bounds = false, strict = false;
  std::string exported = {};  // TargetOptions::exported
  passes::Level level = passes::Level::tolerant;
  std::vector<std::string> with_passes = {}, without_passes = {};  // at any level
  Offload offload = Offload::possible;
  std::map<std::string, std::string> place = {};  // node (as for match_name()) -> target
  // Shapes of inputs, and extents of symbolic dimensions. The bundle has a program for each set.
  std::vector<std::map<std::string, Shape>> shapes = {{}};
  std::optional<std::int64_t> batch = {};      // import::ImportOptions::batch
  std::map<std::string, NdArray> values = {};  // inputs known at compile time (import::ImportOptions)
  // The states (bundle::State): the output of each input. "past.*" = "present.*" makes states of all inputs that begin
  // with "past.".
  std::map<std::string, std::string> states = {};
  std::int64_t loop_limit = import::kDefaultLoopLimit;
  // Changes the imported graph before all other stages. Null: no change.
  std::function<void(graph::Graph& graph)> rewrite = nullptr;
  std::optional<std::string> records = {};         // a database of the tuner, from which the best schedules are used
  std::map<std::string, std::string> decide = {};  // values that schedules use if valid (docs/howto/tuning.md)
  // Number of schedules of each accelerator layer whose cycles are counted; 1: the analytic cost decides.
  std::int64_t counted_candidates = 1;
  int threads = 0;  // threads that run the kernels, which select records; 0: one per processor
  // The caller's targets, which `targets` may name (docs/howto/adding-a-target.md).
  std::vector<TargetPointer> own_targets = {};
  bool cache = false;  // reuse and store results of compiling (driver/compiled_cache.h)

  ModelSource source() const { return {path, layers, part}; }
  std::string title() const { return source().title(); }  // for reports
};

// The key in a bundle's report for the system that it was compiled for.
inline constexpr const char* kSystemEntry = "system";
// Why no multiplication runs on the accelerator, although it is a target (work_shares.h).
inline constexpr const char* kLeftEntry = "left_accelerator";

struct CompiledModel {
  import::ImportReport import;
  std::vector<std::string> targets;
  isa::HardwareConfig hardware;
  System system;
  Compiled compiled;
  double import_seconds = 0;
  bool from_cache = false;  // then there are no graphs
};

// The accelerator that the options name, and its system. Error: bad input.
Result<isa::Machine> machine_of(const ModelOptions& options);
Result<System> system_of(const ModelOptions& options);
// The system for a compiled bundle: that of the options, else the one that it was compiled for, from its report. Error:
// bad input.
Result<System> system_of(const ModelOptions& options, const bundle::Bundle& bundle);

// Error: a target cannot be made with these options. Opens libraries, and looks for devices.
Result<void> check_target_options(const ModelOptions& options);

// The options set targets, hardware and places of `compile`, and their recorded schedules take precedence over its own.
// Errors: bad input; Cause::request if the model does not allow what the options ask for; Cause::work if it does not
// compile.
Result<CompiledModel> compile_model(const ModelOptions& options, CompileOptions compile);

}  // namespace dovetail::driver
