// From an ONNX file to a bundle: how a model is to be compiled, and what comes of it.
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
#include "driver/system.h"
#include "isa/config.h"

namespace dovetail::driver {

inline constexpr const char* kDefaultHardware = "1x16x16";
inline constexpr std::int64_t kMostCountedCandidates = 10'000;

struct ModelOptions {
  std::string path = {};
  std::vector<std::string> targets = {};  // in order of preference
  // Of the accelerator, as isa::load_machine takes it. Absent: kDefaultHardware, or what a bundle was compiled for.
  std::optional<std::string> hardware = {};
  SystemChanges system = {};                                   // its memory is also that of recorded schedules
  std::string cpu = "native";                                  // a processor class, or kInterpreter
  std::string gpu = std::string(cuda::kDefaultArchitectures);  // as cuda::parse_gpu takes it
  bool tf32 = false, check_bounds = false, strict = false;
  passes::Level level = passes::Level::tolerant;
  std::vector<std::string> with_passes = {}, without_passes = {};  // whatever the level says
  Offload offload = Offload::possible;
  std::map<std::string, std::string> place = {};  // node, as match_name() takes it -> target
  // Shapes of inputs, and extents of symbolic dimensions; of several sets, the bundle has a program for each.
  std::vector<std::map<std::string, Shape>> shapes = {{}};
  std::map<std::string, NdArray> values = {};  // of inputs, known at compile time (import::ImportOptions)
  std::int64_t loop_limit = import::kDefaultLoopLimit;
  // Changes the imported graph before anything else sees it. Null: nothing does.
  std::function<void(graph::Graph& graph)> rewrite = nullptr;
  std::optional<std::string> records = {};  // a database of the tuner's: take the best schedules from there
  std::map<std::string, std::string> decide =
      {};  // values that schedules take wherever they may (docs/howto/tuning.md)
  // Schedules of each layer of the accelerator whose cycles are counted; 1: the analytic cost decides.
  std::int64_t counted_candidates = 1;
  int threads = 0;     // that run the kernels, whose records are looked for; 0: one per processor
  bool cache = false;  // take what was compiled before, and keep what is compiled now (driver/compiled_cache.h)
};

struct CompiledModel {
  import::ImportReport import;
  std::vector<std::string> targets;
  isa::HardwareConfig hardware;
  System system;
  Compiled compiled;
  double import_seconds = 0;
  bool from_cache = false;  // without graphs
};

// The accelerator that the options name, and what it runs with. Error: bad input.
Result<isa::Machine> machine_of(const ModelOptions& options);
Result<System> system_of(const ModelOptions& options);
// Of a compiled bundle: what the options say, else what it was compiled for, which is in its report. Error: bad input.
Result<System> system_of(const ModelOptions& options, const bundle::Bundle& bundle);

// Whether the targets can be made as the options say. Opens libraries, and asks for devices.
Result<void> check_target_options(const ModelOptions& options);

// Targets, hardware and places of `compile` come from the options, and what they find of recorded schedules goes before
// what it finds. Errors: bad input; Cause::work where the model does not compile.
Result<CompiledModel> compile_model(const ModelOptions& options, CompileOptions compile);

}  // namespace dovetail::driver
