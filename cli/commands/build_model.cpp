#include "cli/commands/build_model.h"

#include <chrono>
#include <utility>

#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "driver/value_text.h"

namespace dovetail::cli {

Result<Exit> build_model(const isa::HardwareConfig& config, ModelBuild build) {
  RunningStep step;
  const auto start = std::chrono::steady_clock::now();
  const auto model = simulator::build_rtl_model(config, {.kind = std::move(build.kind),
                                                         .design = build.design.value_or(""),
                                                         .into = build.into.value_or(""),
                                                         .report = [&](std::string_view what) { step.begin(what); }});
  step.end();
  if (!model.ok()) return fail(Exit::failed, model.errors());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (build.json)
    print_json({{"kind", build.report_kind},
                {"config", config.name},
                {"model", model->path.string()},
                {"new", model->is_new},
                {"seconds", seconds}});
  else if (model->is_new) print("built         {} in {}\n", model->path.string(), driver::seconds_text(seconds));
  else print("is there      {}\n", model->path.string());
  return Exit::success;
}

}  // namespace dovetail::cli
