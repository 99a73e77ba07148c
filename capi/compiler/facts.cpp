// Queries: example models, operators, the instruction set, this machine, the contents of files.
#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "capi/arguments.h"
#include "capi/compiler/model.h"
#include "capi/include/dovetail.h"
#include "capi/status.h"
#include "cli/report/describe.h"
#include "cli/report/doctor_report.h"
#include "cli/report/operators_text.h"
#include "compiler/quantize/quantize.h"
#include "driver/compile_model.h"
#include "driver/zoo_model.h"
#include "isa/config.h"
#include "isa/emit/emit.h"

namespace dovetail::capi {

namespace {

constexpr std::int64_t kMostExtent = 1 << 20;

struct ZooSettings {
  driver::ZooOptions options;
  Callbacks callbacks;
};

Result<ZooSettings> zoo_settings_of(const dvt_zoo_options* given) {
  DOVETAIL_ASSIGN(const dvt_zoo_options from, options_of(given, "dvt_zoo_model: options"));
  ZooSettings settings;
  driver::ZooOptions& to = settings.options;
  const auto set = [](std::int64_t value, auto& member, const char* argument) -> Result<void> {
    DOVETAIL_TRY(check_value(value, 0, kMostExtent, argument));
    if (value != 0) member = value;
    return {};
  };
  DOVETAIL_TRY(set(from.batch, to.choices.batch, "dvt_zoo_model: options, batch"));
  DOVETAIL_TRY(set(from.image, to.choices.image, "dvt_zoo_model: options, image"));
  DOVETAIL_TRY(set(from.sequence, to.choices.sequence, "dvt_zoo_model: options, sequence"));
  DOVETAIL_TRY(set(from.samples, to.samples, "dvt_zoo_model: options, samples"));
  if (from.int8 == 0 && (from.calibration != nullptr || from.samples != 0))
    return bad_argument("dvt_zoo_model: options, int8", "it is 0, and calibration or samples are set", "set int8");
  if (from.seed != 0) to.choices.seed = from.seed;
  to.int8 = from.int8 != 0;
  to.calibration = text_or(from.calibration, to.calibration);
  DOVETAIL_ASSIGN(settings.callbacks, Callbacks::of(from.callbacks, "dvt_zoo_model: options, callbacks"));
  to.progress = settings.callbacks.report_progress();
  return settings;
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_zoo(char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_zoo: json"));
    *json = owned_json(driver::zoo_list());
    return {};
  });
}

dvt_status* dvt_zoo_model(const char* name, const dvt_zoo_options* options, dvt_model** out, char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_zoo_model: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(name, "dvt_zoo_model: name"));
    DOVETAIL_ASSIGN(const ZooSettings settings, zoo_settings_of(options));
    DOVETAIL_ASSIGN(const driver::ZooModel model, driver::make_zoo_model(name, settings.options));
    if (model.quantized)
      for (const std::string& finding : quantize::degenerate(*model.quantized))
        settings.callbacks.log(DVT_LOG_WARNING, finding);
    DOVETAIL_ASSIGN(dvt_model* const made, model_in_memory(model.file, name));
    std::unique_ptr<dvt_model> owner(made);
    give_json(json, model.to_json(nullptr));
    *out = owner.release();
    return {};
  });
}

dvt_status* dvt_inspect(const char* path, const char* hardware, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_inspect: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(path, "dvt_inspect: path"));
    DOVETAIL_ASSIGN(const cli::Description description, cli::describe(path, text_if(hardware)));
    *json = owned_json(description.json);
    return {};
  });
}

dvt_status* dvt_operators(char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_operators: json"));
    *json = nullptr;
    DOVETAIL_ASSIGN(const Json operators, cli::operators_json());
    *json = owned_json(operators);
    return {};
  });
}

dvt_status* dvt_doctor(char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_doctor: json"));
    *json = owned_json(cli::doctor_json());
    return {};
  });
}

dvt_status* dvt_isa(const char* hardware, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_isa: json"));
    *json = nullptr;
    DOVETAIL_ASSIGN(const isa::HardwareConfig config, isa::load_config(text_or(hardware, driver::kDefaultHardware)));
    *json = owned_text(isa::emit_json(config));
    return {};
  });
}

}  // extern "C"
