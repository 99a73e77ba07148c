// A model on the command line, from its arguments to a bundle: shared by the commands that take MODEL.onnx.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/options.h"
#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "isa/config.h"
#include "simulator/memory/memory.h"

namespace dovetail::cli {

struct ModelArguments {
  std::string model;
  std::optional<std::string> targets, hardware;
  std::string cpu = "native";
  std::vector<std::string> place, shapes, with_passes, without_passes, decide;
  std::string level = "2";
  bool strict = false;
  std::string offload = "possible", clock = "1000";
  std::optional<std::string> records;
  // Set by the command: what tuned schedules are to have been measured with.
  simulator::MemorySpec memory = simulator::IdealMemory{};
  int threads = 0;                             // 0: one per processor
  std::map<std::string, NdArray> values = {};  // of inputs, known at compile time (import::ImportOptions)

  // --target, --hw, --cpu, --place, --shape, -O, --pass, --no-pass, --strict, --records, --decide.
  void declare(Options& options);
  // Those of them that choose targets: --target, --hw, --cpu, -O, --strict.
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
  Compiled compiled;
  double import_seconds = 0;
};
struct CompileOutcome {
  std::optional<CompiledModel> model;  // absent where compiling failed, with the reason in `failure`
  Diagnostics failure;
};
// Targets, hardware and places of `options` come from the arguments. Error: bad input.
Result<CompileOutcome> compile_model(const ModelArguments& arguments, CompileOptions options);

// The file is a bundle, by its name; else it is taken for a model. Error: it has the first bytes of a bundle and
// another name. Only what is named .dvt is loaded as code.
Result<bool> is_bundle_file(const std::string& path);

// The share of each target in the multiplications of the graph; nothing where it has none.
std::string macs_text(const PlacementSummary& summary);
// The report that people read: import, placement, program, stages.
std::string report_text(const CompiledModel& model, const std::string& path);
// And the one for machines: "kind": "compile".
Json report_json(const CompiledModel& model, const std::string& path);

}  // namespace dovetail::cli
