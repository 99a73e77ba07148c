#include "simulator/rtl/library.h"

#include <string>

#include <fmt/format.h>

#include "base/machine_code_permission.h"
#include "simulator/rtl/build.h"
#include "simulator/rtl/find.h"
#include "simulator/rtl/model_file.h"

namespace dovetail::simulator {

Result<std::shared_ptr<const RtlLibrary>> RtlLibrary::open(const std::filesystem::path& path) {
  DOVETAIL_TRY(check_machine_code("cannot run the design", "engine rtl"));
  const auto bad = [&](std::string why, Cause cause = Cause::input) {
    return Diagnostic{"cannot load the RTL model", path.string(), std::move(why),
                      "build it again: `dovetail rtl build --hw CONFIG`", cause};
  };
  // The loader would read beyond the end of a truncated file.
  if (auto damage = rtl_model_damage(path)) return bad(*std::move(damage));
  auto object = SharedLibrary::open(path);
  if (!object.ok()) return bad(object.errors().front().why, cause_of(object.errors()));
  const auto entry = reinterpret_cast<dovetail_rtl_entry>(object->find(DOVETAIL_RTL_ENTRY));
  if (entry == nullptr) return bad("the file is not an RTL model");
  const dovetail_rtl_api* const api = entry();
  if (api->version != DOVETAIL_RTL_API_VERSION)
    return bad(
        fmt::format("the model's interface has version {}, but this kit's {}", api->version, DOVETAIL_RTL_API_VERSION));
  return std::shared_ptr<const RtlLibrary>(new RtlLibrary(*std::move(object), api));
}

Result<std::shared_ptr<const RtlLibrary>> RtlLibrary::open_of(const isa::HardwareConfig& config,
                                                              const EngineOptions& options) {
  DOVETAIL_TRY(check_machine_code("cannot run the design", "engine rtl"));
  const bool waves = options.waves.has_value();
  DOVETAIL_ASSIGN(const std::filesystem::path path,
                  options.build_missing
                      ? find_or_build_rtl_model(config, {.kind = {.waves = waves}, .report = options.build_missing})
                      : find_rtl_model(config, waves));
  return open(path);
}

}  // namespace dovetail::simulator
