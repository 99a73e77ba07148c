#include "simulator/rtl/find.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simulator/rtl/model_file.h"

namespace dovetail::simulator {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

// The files of a folder that such a model may be: one of this Verilator, or where there is none, of any.
std::vector<fs::path> candidates(const fs::path& folder, const RtlModelSources& sources) {
  std::error_code ignored;
  if (verilator_version()) {
    const fs::path path = folder / rtl_model_file(sources, *verilator_version());
    return fs::exists(path, ignored) ? std::vector{path} : std::vector<fs::path>{};
  }
  std::vector<fs::path> paths;
  const std::string prefix = rtl_model_prefix(sources);
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(prefix) && entry.path().extension() == ".so")
      paths.push_back(entry.path());
  std::sort(paths.rbegin(), paths.rend());
  return paths;
}

// The line that builds the model. A configuration that came from a file does not know which.
std::string remedy(const isa::HardwareConfig& config, bool waves) {
  const auto& named = isa::named_configs();
  const bool is_named = std::find(named.begin(), named.end(), config) != named.end();
  return fmt::format("{}dovetail rtl build --hw {}{}",
                     verilator_version() ? "" : "install verilator, then: ", is_named ? config.name : "FILE",
                     waves ? " --waves" : "") +
         (is_named ? "" : ", with the file that this configuration came from");
}

}  // namespace

fs::path rtl_model_cache() {
  const fs::path cache = environment("XDG_CACHE_HOME") ? fs::path(*environment("XDG_CACHE_HOME"))
                         : environment("HOME")         ? fs::path(*environment("HOME")) / ".cache"
                                                       : fs::temp_directory_path();
  return cache / "dovetail" / "rtl";
}

fs::path kit_folder() {
  std::error_code ignored;
  const fs::path installed =
      fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "share" / "dovetail";
  return fs::is_directory(installed / "hw" / "rtl", ignored) ? installed : fs::path(DOVETAIL_HW_FOLDER).parent_path();
}

fs::path hardware_folder() { return environment("DOVETAIL_HW").value_or(kit_folder() / "hw"); }

Result<fs::path> find_rtl_model(const isa::HardwareConfig& config, bool waves) {
  std::vector<std::string> folders;
  if (const auto models = environment("DOVETAIL_RTL_MODELS")) folders.push_back(*models);
  folders.emplace_back(DOVETAIL_RTL_MODEL_FOLDER);
  folders.push_back(rtl_model_cache().string());
  std::string damaged, wanted;
  for (const bool optimise : {true, false}) {
    const RtlModelSources sources =
        rtl_model_sources(config, {.waves = waves, .optimise = optimise}, hardware_folder(), kit_folder());
    wanted += fmt::format("{}{}*.so", wanted.empty() ? "" : " or ", rtl_model_prefix(sources));
    for (const std::string& folder : folders)
      for (const fs::path& path : candidates(folder, sources)) {
        const auto damage = rtl_model_damage(path);
        if (!damage) return path;
        damaged += fmt::format("; {}: {}", path.string(), *damage);
      }
  }
  return Diagnostic{
      "there is no RTL model of this configuration", config.name,
      fmt::format("one is made for each configuration, design and version of Verilator, and none of {} holds {}{}",
                  fmt::join(folders, ", "), wanted, damaged),
      remedy(config, waves)};
}

}  // namespace dovetail::simulator
