#include "cli/shell/session_arguments.h"

#include <utility>

#include "cli/shell/arguments.h"
#include "cli/shell/progress.h"
#include "driver/bundle_file.h"
#include "driver/compile_model.h"

namespace dovetail::cli {

Result<std::optional<int>> SessionArguments::thread_count() const {
  if (!threads) return std::optional<int>();
  DOVETAIL_ASSIGN(const std::int64_t count, parse_count("--threads", *threads, 1, 1024));
  return std::optional(static_cast<int>(count));
}

Result<driver::SessionOptions> SessionArguments::parse() const {
  driver::SessionOptions options{.engine = engine, .trusted = trust};
  DOVETAIL_ASSIGN(options.seed, parse_address("--seed", seed));
  DOVETAIL_ASSIGN(const std::optional<int> count, thread_count());
  DOVETAIL_ASSIGN(const bool is_bundle, driver::is_bundle_file(model.model));
  DOVETAIL_TRY(model.system.check_engine(engine, !is_bundle));
  DOVETAIL_ASSIGN(options.model, model.parse());
  options.model.threads = count.value_or(0);
  return options;
}

Result<void> compile_shown(driver::Session& session, CompileOptions options) {
  PartsProgress progress;
  options.progress = [&](std::string_view what, std::int64_t done, std::int64_t all) {
    progress.show(what, done, all);
  };
  return session.compile(std::move(options));
}

Result<driver::CompiledModel> compile_shown(const driver::ModelOptions& model, CompileOptions options) {
  PartsProgress progress;
  options.progress = [&](std::string_view what, std::int64_t done, std::int64_t all) {
    progress.show(what, done, all);
  };
  return compile_model(model, std::move(options));
}

}  // namespace dovetail::cli
