#include "cli/commands/compare_explain.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "cli/report/profile_report.h"
#include "cli/shell/session_arguments.h"
#include "driver/bundle_file.h"
#include "driver/explanation.h"
#include "driver/profile.h"
#include "driver/session.h"

namespace dovetail::cli {

namespace {

struct Side {
  driver::ModelSource source;
  std::optional<std::string> hardware;
};

Result<bool> is_bundle_side(const Side& side) {
  if (side.source.path.empty()) return false;
  return driver::is_bundle_file(side.source.path);
}

Result<std::vector<Side>> sides_of(const ExplainOptions& options) {
  const auto bad = [](std::string where, std::string why) {
    return Diagnostic{
        "bad usage of `dovetail compare --explain`", std::move(where), std::move(why),
        "give two runs: one model and two configurations (--hw A,B), or two files, each a model, a bundle "
        "or the JSON of `dovetail profile`"};
  };
  std::vector<Side> sides;
  for (const driver::ModelSource& source : options.sources) {
    if (options.hardware.empty()) sides.push_back({source, std::nullopt});
    for (const std::string& hardware : options.hardware) sides.push_back({source, hardware});
  }
  if (sides.size() != 2)
    return bad("", fmt::format("{} run{} given", sides.size(), sides.size() == 1 ? " is" : "s are"));
  for (const Side& side : sides) {
    DOVETAIL_ASSIGN(const bool is_bundle, is_bundle_side(side));
    if (side.hardware && (is_bundle || side.source.path.ends_with(".json")))
      return bad(side.source.path, "--hw does not apply to it, because it is not a model");
    const driver::SystemChanges& changes = options.model.system;
    if (side.source.path.ends_with(".json") && (changes.clock_mhz || changes.memory || changes.accelerators))
      return bad(side.source.path, "--clock, --memory and --accelerators do not apply to it, because it was measured");
  }
  return sides;
}

Result<driver::ExplainedRun> profiled(const Side& side, const ExplainOptions& options) {
  const bool same_source = options.sources.size() == 1;
  const std::string title = side.source.title();
  driver::ExplainedRun run{.name = !side.hardware ? title
                                   : same_source  ? *side.hardware
                                                  : fmt::format("{} on {}", title, *side.hardware)};
  if (side.source.path.ends_with(".json")) {
    DOVETAIL_ASSIGN(run.profile, read_json_file(side.source.path));
    return run;
  }
  driver::SessionOptions session_options{
      .model = options.model, .engine = "cycle", .seed = options.seed, .work = options.work};
  session_options.engine_options.trace = true;
  session_options.model.path = side.source.path;
  session_options.model.layers = side.source.layers;
  DOVETAIL_ASSIGN(const bool is_bundle, is_bundle_side(side));
  if (!is_bundle) {
    session_options.model.hardware = side.hardware;
    session_options.model.targets = options.targets;
  }
  DOVETAIL_ASSIGN(driver::Session session, driver::Session::open(std::move(session_options)));
  DOVETAIL_TRY(compile_shown(session));
  DOVETAIL_ASSIGN(const driver::RunInputs inputs, session.inputs(options.inputs));
  DOVETAIL_TRY(session.make_ready());
  DOVETAIL_ASSIGN(const driver::Profile profile,
                  driver::profile(session, inputs.tensors, {options.repeat, options.energy}));
  run.profile = profile_json(session, profile);
  return run;
}

}  // namespace

Result<Json> explain_runs(const ExplainOptions& options) {
  DOVETAIL_ASSIGN(const std::vector<Side> sides, sides_of(options));
  DOVETAIL_ASSIGN(const driver::ExplainedRun a, profiled(sides[0], options));
  DOVETAIL_ASSIGN(const driver::ExplainedRun b, profiled(sides[1], options));
  return driver::explain(a, b);
}

}  // namespace dovetail::cli
