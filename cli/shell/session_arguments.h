// Options that all commands have that run a model or a bundle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/shell/model_arguments.h"
#include "driver/compile_model.h"
#include "driver/session.h"

namespace dovetail::cli {

inline constexpr std::string_view kTrustHelp =
    "run the machine code of a bundle that `dovetail compile` did not write for you: it has all of your permissions";

struct SessionArguments {
  ModelArguments model = {};
  std::string engine, seed = "1";
  std::optional<std::string> threads = {};
  bool trust = false;

  // Errors: bad values; options that the engine would ignore.
  Result<driver::SessionOptions> parse() const;
  // --threads; nullopt if it is not given.
  Result<std::optional<int>> thread_count() const;
};

// Compiles, and shows the progress.
Result<void> compile_shown(driver::Session& session, CompileOptions options = {});
Result<driver::CompiledModel> compile_shown(const driver::ModelOptions& model, CompileOptions options);

}  // namespace dovetail::cli
