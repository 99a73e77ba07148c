// The options of commands that compile MODEL.onnx.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/shell/options.h"
#include "cli/shell/source_arguments.h"
#include "cli/shell/system_arguments.h"
#include "driver/compile_model.h"

namespace dovetail::cli {

struct ModelArguments {
  std::string model;
  std::optional<std::string> targets, hardware;
  std::string cpu = "native", gpu = std::string(cuda::kDefaultArchitectures);
  std::vector<std::string> place, shapes, states, with_passes, without_passes, decide;
  std::string level = "2";
  bool strict = false, cache = false, tf32 = false, check_bounds = false;
  std::string offload = "possible";
  std::optional<std::string> records, count_cycles, loop_limit;
  SourceArguments source;
  SystemArguments system;

  bool given() const { return !model.empty() || !source.layers.empty(); }
  std::string title() const { return source.of(model).title(); }  // for reports

  // Declares --layer, --only, --from, --to, --target, --hw, --cpu, --check-bounds, --gpu, --tf32, --place, --shape, -O,
  // --pass, --no-pass, --strict,
  // --records,
  // --decide, --count-cycles, --loop-limit, --clock, --memory.
  void declare(Options& options);
  // Declares --cache.
  void declare_cache(Options& options);
  // Declares only the options that choose targets: --target, --hw, --cpu, --check-bounds, --gpu, --tf32, -O, --strict.
  void declare_target(Options& options);
  // Error: an option has a bad value.
  Result<driver::ModelOptions> parse() const;
  // The given options that apply only to a model, not to a bundle.
  std::vector<std::string> compile_only_options() const;
};

}  // namespace dovetail::cli
