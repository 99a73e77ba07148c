// Targets and machines compared on models.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "capi/arguments.h"
#include "capi/compiler/model.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "cli/report/comparison_text.h"
#include "driver/compare_model.h"
#include "driver/compile_model.h"
#include "driver/targets.h"
#include "explore/energy/table.h"
#include "isa/system.h"

namespace dovetail::capi {

namespace {

// What dvt_compare was asked for.
struct Comparing {
  std::vector<driver::ModelOptions> models;  // without targets and hardware
  driver::CompareOptions options;
  Callbacks callbacks;
};

Result<Comparing> comparing_of(const dvt_model* const* models, std::size_t count, const dvt_compile_options* compile,
                               const dvt_compare_options* given) {
  DOVETAIL_TRY(check_models(models, count, "dvt_compare"));
  DOVETAIL_ASSIGN(const dvt_compare_options own, options_of(given, "dvt_compare: options"));
  DOVETAIL_TRY(check_value(own.repeat, 0, 100'000, "dvt_compare: options, repeat"));
  DOVETAIL_TRY(check_texts(own.hardware, "dvt_compare: options, hardware"));
  DOVETAIL_ASSIGN(CompileSettings settings, compile_settings_of(models[0]->model, compile, "dvt_compare: compile"));
  if (!settings.model.own_targets.empty())
    return bad_argument("dvt_compare: compile, own_targets", "rows are targets of the kit", "leave it out");
  Comparing comparing;
  comparing.callbacks = settings.callbacks;
  driver::CompareOptions& options = comparing.options;
  options.targets = std::exchange(settings.model.targets, {});
  DOVETAIL_TRY(driver::check_targets("dvt_compare: compile, targets", options.targets));
  options.hardware = texts_of(own.hardware);
  if (options.hardware.empty()) options.hardware = {settings.model.hardware.value_or(driver::kDefaultHardware)};
  settings.model.hardware.reset();
  for (const std::string& hardware : options.hardware) DOVETAIL_TRY(isa::load_machine(hardware));
  options.threads = settings.model.threads;
  DOVETAIL_ASSIGN(options.tensors, arrays_of(own.inputs, own.input_count, "dvt_compare: options, inputs"));
  if (own.seed != 0) options.seed = own.seed;
  if (own.repeat != 0) options.repeat = own.repeat;
  DOVETAIL_ASSIGN(options.energy, explore::default_energy_table());
  options.progress = comparing.callbacks.report_progress();
  for (std::size_t i = 0; i < count; ++i) {
    settings.model.path = models[i]->model.path;
    comparing.models.push_back(settings.model);
  }
  return comparing;
}

Result<driver::Comparison> compare(const dvt_model* const* models, Comparing comparing) {
  const auto named = [&](Diagnostics problems) {
    for (std::size_t i = 0; i < comparing.models.size(); ++i) problems = models[i]->model.named(std::move(problems));
    return problems;
  };
  Work work;
  comparing.options.work = &work;
  auto outcome = [&] {
    const Watched watched(comparing.callbacks.without_progress(), &work, "comparing");
    return driver::compare_models(comparing.models, comparing.options);
  }();
  if (!outcome.ok()) return named(outcome.errors());
  if (!outcome->failure.empty()) return named(failed_work(outcome->failure));
  for (std::size_t i = 0; i < comparing.models.size(); ++i) outcome->comparison.models[i].file = models[i]->model.name;
  return std::move(outcome->comparison);
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_compare(const dvt_model* const* models, size_t count, const dvt_compile_options* compile,
                        const dvt_compare_options* options, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_compare: json"));
    *json = nullptr;
    DOVETAIL_ASSIGN(Comparing comparing, comparing_of(models, count, compile, options));
    DOVETAIL_ASSIGN(const driver::Comparison comparison, capi::compare(models, std::move(comparing)));
    *json = owned_json(cli::comparison_json(comparison));
    return {};
  });
}

}  // extern "C"
