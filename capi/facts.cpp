// Versions, engines, hardware.
#include "base/json.h"
#include "capi/arguments.h"
#include "capi/include/dovetail.h"
#include "capi/status.h"
#include "isa/hardware_file.h"
#include "isa/system.h"
#include "runtime/executor.h"
#include "runtime/peak.h"
#include "simulator/rtl/find.h"

namespace dovetail::capi {

namespace {

// Only the command line builds models on demand: without one, no session runs on this engine.
void add_rtl_models(Json& engine) {
  engine["models"] = simulator::built_rtl_models();
  engine["available"] = simulator::has_rtl_models();
  if (engine["missing"] == "" && engine["available"] == false)
    engine["missing"] = "no RTL model is built; `dovetail rtl build --hw NAME` builds one for each hardware";
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

uint32_t dvt_version(void) { return (DVT_VERSION_MAJOR << 16) | DVT_VERSION_MINOR; }

const char* dvt_kit_version(void) { return DOVETAIL_KIT_VERSION; }

dvt_status* dvt_engines(char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_engines: json"));
    *json = nullptr;
    Json rows = Json::array();
    for (const runtime::Engine& engine : runtime::engines()) {
      rows.push_back({{"name", engine.name},
                      {"description", engine.description},
                      {"available", engine.available},
                      {"has_clock", engine.has_clock},
                      {"missing", engine.missing}});
      if (engine.name == "rtl") add_rtl_models(rows.back());
    }
    *json = owned_json(rows);
    return {};
  });
}

dvt_status* dvt_peak(char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_peak: json"));
    *json = owned_json({{"float32", runtime::to_json(runtime::measure_float32_peak())},
                        {"int8", runtime::to_json(runtime::measure_int8_peak())}});
    return {};
  });
}

dvt_status* dvt_hardware(const char* hardware, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_hardware: json"));
    *json = nullptr;
    if (hardware != nullptr) {
      DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_machine(hardware));
      *json = owned_json(isa::portable_machine_json(machine));
      return {};
    }
    Json rows = Json::array();
    for (const isa::Machine& machine : isa::named_machines()) rows.push_back(isa::machine_to_json(machine));
    *json = owned_json(rows);
    return {};
  });
}

}  // extern "C"
