// What the commands have in common that run a model or a bundle.
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
    "run the machine code of a bundle that `dovetail compile` did not write for you: it can do all that you can";

struct SessionArguments {
  ModelArguments model = {};
  std::string engine, seed = "1";
  std::optional<std::string> threads = {};
  bool trust = false;

  // Error: bad values; what the engine would ignore.
  Result<driver::SessionOptions> parse() const;
  // --threads; nothing: it is not given.
  Result<std::optional<int>> thread_count() const;
};

// Compiles, and shows how far that is.
Result<void> compile_shown(driver::Session& session, CompileOptions options = {});
Result<driver::CompiledModel> compile_shown(const driver::ModelOptions& model, CompileOptions options);

}  // namespace dovetail::cli
