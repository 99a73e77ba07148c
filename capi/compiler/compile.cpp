// Compiles models, and answers queries about bundles that this process compiled.
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/difference.h"
#include "base/json.h"
#include "bundle/code/target_facts.h"
#include "capi/arguments.h"
#include "capi/bundle.h"
#include "capi/compiler/model.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "cli/report/compile_report.h"
#include "cli/report/energy_text.h"
#include "driver/bundle_file.h"
#include "driver/compile_model.h"
#include "driver/energy.h"
#include "driver/targets.h"
#include "explore/check/reference_check.h"
#include "explore/energy/table.h"

namespace dovetail::capi {

namespace {

Result<Json> check(Session& session, Inputs inputs) {
  const LoadedBundle& loaded = session.loaded();
  if (!loaded.model)
    return Diagnostic{"cannot check the run", loaded.where, "the bundle has no graph to evaluate",
                      "compile a model in this process with dvt_compile"};
  const Compiled& compiled = loaded.model->compiled;
  DOVETAIL_ASSIGN(auto states, session.states());
  for (auto& [name, value] : states) inputs.try_emplace(name, std::move(value));
  DOVETAIL_ASSIGN(runtime::RunResult run, session.run(inputs, {.keep_tensors = true}, Session::Keep::states));
  explore::add_logical_tensors(loaded.bundle, compiled.integer, run);
  const bool rounds_freely = std::ranges::any_of(bundle::all_programs(loaded.bundle), [](const auto* program) {
    return std::ranges::any_of(program->steps, bundle::rounds_freely);
  });
  Work work;
  const Session::Running running(session, work, "reference");
  const double tolerance = std::max(rounds_freely ? kMachineCodeTolerance : 0, compiled.tolerance);
  const auto found = explore::check_against_reference(compiled.integer, inputs, run, tolerance, &work);
  if (!found.ok()) return failed_work(found.errors());
  return Json{{"tensors", found->compared},
              {"graph_tensors", found->graph_tensors},
              {"elements", found->elements},
              {"different", found->different},
              {"stepped", found->stepped},
              {"first", found->first.empty() ? "" : to_string(found->first.front(), "difference")}};
}

Result<void> compile(const Model& model, CompileSettings settings, dvt_bundle** out, char** json) {
  CompileOptions options;
  options.expose_all = settings.all_tensors;
  options.progress = settings.callbacks.report_progress();
  auto compiled = driver::compile_model(settings.model, std::move(options));
  if (!compiled.ok()) return model.named(compiled.errors());
  for (const std::string& note : compiled->import.notes) settings.callbacks.log(DVT_LOG_NOTE, note);
  if (json != nullptr) *json = owned_json(cli::report_json(*compiled, model.name));
  bundle::Bundle bundle = std::move(compiled->compiled.bundle);
  DOVETAIL_ASSIGN(const std::shared_ptr<LoadedBundle> loaded, checked(std::move(bundle), model.name));
  loaded->made_here = true;
  compiled->compiled.imported = compiled->compiled.optimized = {};  // the reference needs the integer graph alone
  loaded->model = std::make_shared<const driver::CompiledModel>(*std::move(compiled));
  *out = new dvt_bundle{loaded};
  return {};
}

// The printed forms of stages: [{"stage", "text"}].
Result<Json> stages_of(const Model& model, const CompileSettings& settings, std::vector<std::string> stages,
                       const char* stop_after) {
  Json rows = Json::array();
  CompileOptions options;
  options.expose_all = settings.all_tensors;
  options.progress = settings.callbacks.report_progress();
  options.dump = std::move(stages);
  if (options.dump.empty()) options.dump = {"all"};
  options.stop_after = text_or(stop_after, "");
  options.on_dump = [&](std::string_view stage, std::string_view text) {
    rows.push_back({{"stage", stage}, {"text", text}});
  };
  const auto compiled = driver::compile_model(settings.model, std::move(options));
  if (!compiled.ok()) return model.named(compiled.errors());
  return rows;
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_targets(char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_targets: json"));
    *json = nullptr;
    Json rows = Json::array();
    for (const driver::TargetRow& row : driver::target_table())
      rows.push_back({{"name", row.name()},
                      {"description", row.description},
                      {"available", driver::is_available(row)},
                      {"missing", driver::missing(row)}});
    *json = owned_json(rows);
    return {};
  });
}

dvt_status* dvt_compile(const dvt_model* model, const dvt_compile_options* options, dvt_bundle** out, char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_compile: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(model, "dvt_compile: model"));
    DOVETAIL_ASSIGN(CompileSettings settings, compile_settings_of(model->model, options, "dvt_compile: options"));
    return capi::compile(model->model, std::move(settings), out, json);
  });
}

dvt_status* dvt_compile_stages(const dvt_model* model, const dvt_compile_options* options, dvt_texts stages,
                               const char* stop_after, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_compile_stages: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(model, "dvt_compile_stages: model"));
    DOVETAIL_TRY(check_texts(stages, "dvt_compile_stages: stages"));
    DOVETAIL_ASSIGN(const CompileSettings settings,
                    compile_settings_of(model->model, options, "dvt_compile_stages: options"));
    DOVETAIL_ASSIGN(const Json rows, stages_of(model->model, settings, texts_of(stages), stop_after));
    *json = owned_json(rows);
    return {};
  });
}

dvt_status* dvt_bundle_verify(const dvt_bundle* bundle, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_bundle_verify: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(bundle, "dvt_bundle_verify: bundle"));
    DOVETAIL_ASSIGN(const driver::VerifiedBundle verified, driver::verify_programs(bundle->loaded->bundle));
    Json problems = Json::array();
    for (const Diagnostic& problem : verified.problems)
      problems.push_back(
          {{"what", problem.what}, {"where", problem.where}, {"why", problem.why}, {"hint", problem.hint}});
    *json = owned_json({{"summary", verified.summary}, {"problems", problems}});
    return {};
  });
}

dvt_status* dvt_session_check(dvt_session* session, const dvt_named_tensor* inputs, size_t count, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_session_check: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(session, "dvt_session_check: session"));
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(inputs, count, "dvt_session_check: inputs"));
    const capi::Session::Call call(*session->session);
    DOVETAIL_ASSIGN(const Json found, check(*session->session, arrays));
    *json = owned_json(found);
    return {};
  });
}

dvt_status* dvt_session_energy(dvt_session* session, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_session_energy: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(session, "dvt_session_energy: session"));
    const capi::Session& own = *session->session;
    return own.with_last_run([&](const bundle::Bundle& program, const runtime::RunResult& run) -> Result<void> {
      DOVETAIL_ASSIGN(const explore::EnergyTable table, explore::default_energy_table());
      DOVETAIL_ASSIGN(const auto facts, driver::energy_facts(program, run.steps, own.system(), table));
      *json = owned_json(cli::energy_json(facts));
      return {};
    });
  });
}

}  // extern "C"
