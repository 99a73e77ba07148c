// A model on the command line, from its arguments to a bundle: shared by the commands that take MODEL.onnx.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/system.h"
#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/target/cuda/gpu.h"
#include "isa/config.h"

namespace dovetail::cli {

struct ModelArguments {
  std::string model;
  std::optional<std::string> targets, hardware;
  std::string cpu = "native", gpu = std::string(cuda::kDefaultArchitectures);
  std::vector<std::string> place, shapes, with_passes, without_passes, decide;
  std::string level = "2";
  bool strict = false, cache = false, tf32 = false, check_bounds = false;
  std::string offload = "possible";
  std::optional<std::string> records, count_cycles, loop_limit;
  // The memory is also the one that tuned schedules are to have been measured with.
  SystemArguments system;
  int threads = 0;  // set by the command; 0: one per processor
  // Set by the command: changes the imported graph before anything else sees it. Null: nothing does.
  std::function<void(graph::Graph& graph)> rewrite = nullptr;
  std::map<std::string, NdArray> values = {};  // of inputs, known at compile time (import::ImportOptions)

  // --target, --hw, --cpu, --check-bounds, --gpu, --tf32, --place, --shape, -O, --pass, --no-pass, --strict, --records,
  // --decide, --count-cycles, --loop-limit, --clock, --memory.
  void declare(Options& options);
  // --cache.
  void declare_cache(Options& options);
  // Those of them that choose targets: --target, --hw, --cpu, --check-bounds, --gpu, --tf32, -O, --strict.
  void declare_target(Options& options);
  // Error: bad values of these.
  Result<void> check_target() const;
  // The options that were given, of those that only a model understands.
  std::vector<std::string> compile_only_options() const;
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
struct CompileOutcome {
  std::optional<CompiledModel> model;  // absent where compiling failed, with the reason in `failure`
  Diagnostics failure;
};
// The accelerator that the arguments name, and what it runs with. Error: bad input.
Result<isa::Machine> machine_of(const ModelArguments& arguments);
Result<System> system_of(const ModelArguments& arguments);
// Of a compiled bundle: what --hw says, else what it was compiled for, which is in its report. Error: bad input.
Result<System> system_of(const ModelArguments& arguments, const bundle::Bundle& bundle);

// Targets, hardware and places of `options` come from the arguments. Error: bad input.
Result<CompileOutcome> compile_model(const ModelArguments& arguments, CompileOptions options);

// The file is a bundle, by its name; else it is taken for a model. Error: it has the first bytes of a bundle and
// another name. Only what is named .dvt is loaded as code.
Result<bool> is_bundle_file(const std::string& path);

// The report that people read: import, placement, program, stages.
std::string report_text(const CompiledModel& model, const std::string& path);
// And the one for machines: "kind": "compile".
Json report_json(const CompiledModel& model, const std::string& path);

}  // namespace dovetail::cli
