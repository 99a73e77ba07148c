#include "simulator/rtl/find.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/folder.h"
#include "base/kit_folder.h"
#include "base/user_folder.h"
#include "simulator/rtl/build.h"
#include "simulator/rtl/model_file.h"

namespace dovetail::simulator {

namespace {

namespace fs = std::filesystem;

// Files of a folder that may be the model: those of this Verilator's version, or of any version if there is no
// Verilator.
std::vector<fs::path> candidates(const fs::path& folder, const RtlModelSources& sources) {
  std::error_code ignored;
  if (verilator_version()) {
    const fs::path path = folder / rtl_model_file(sources, *verilator_version());
    return fs::exists(path, ignored) ? std::vector{path} : std::vector<fs::path>{};
  }
  std::vector<fs::path> paths;
  const std::string prefix = rtl_model_prefix(sources);
  for (const fs::path& path : entries_of(folder))
    if (path.filename().string().starts_with(prefix) && path.extension() == ".so") paths.push_back(path);
  std::ranges::reverse(paths);
  return paths;
}

struct Folder {
  fs::path path;
  bool named = false;                 // named by the user, who trusts its contents
  std::optional<fs::path> root = {};  // the parent folder that the kit has also created
};

std::vector<Folder> model_folders() {
  std::vector<Folder> folders;
  if (const auto models = environment("DOVETAIL_RTL_MODELS")) folders.push_back({*models, true});
  folders.push_back({kit_prefix() / "lib" / "dovetail" / "rtl"});
  if (const auto cache = rtl_model_cache(); cache.ok()) folders.push_back({*cache, false, cache->parent_path()});
  return folders;
}

// Why this model must not be loaded: it is damaged, or another user may have written it.
std::optional<std::string> why_not(const Folder& folder, const fs::path& model) {
  if (auto damage = rtl_model_damage(model)) return damage;
  if (folder.named) return std::nullopt;
  for (const fs::path& path : {model, folder.path, folder.root.value_or(folder.path)})
    if (auto why = other_hands(path)) return fmt::format("the file is code, and {}", *why);
  return std::nullopt;
}

// The command that builds the model. A configuration read from a file does not know the file's name; one that was
// changed on the command line has the changes in its name.
std::string remedy(const isa::HardwareConfig& config, const RtlModelKind& kind) {
  const auto named = isa::load_config(config.name);
  const bool is_named = named.ok() && *named == config;
  const auto tool = missing_rtl_tool();
  const std::string hardware = (is_named ? config.name : "FILE") + (kind.waves ? " --waves" : "");
  return (tool ? fmt::format("`sudo apt-get install {}`, then ", *tool) : "") +
         (kind.is_system() ? fmt::format("`dovetail soc build --hw {}`", hardware)
                           : fmt::format("`dovetail rtl build --hw {}`", hardware)) +
         (is_named ? "" : ", with the file that this configuration came from");
}

}  // namespace

Result<fs::path> rtl_model_cache() {
  DOVETAIL_ASSIGN(const fs::path cache, user_folder(UserFolder::cache));
  return cache / "rtl";
}

fs::path kit_folder() { return kit_prefix() / "share" / "dovetail"; }

fs::path hardware_folder() { return environment("DOVETAIL_HW").value_or(kit_folder() / "hw"); }

bool is_design_of_kit() { return !environment("DOVETAIL_HW"); }

Result<fs::path> find_rtl_model(const isa::HardwareConfig& config, bool waves) {
  return find_rtl_model(config, RtlModelKind{.waves = waves});
}

Result<fs::path> find_rtl_model(const isa::HardwareConfig& config, const RtlModelKind& kind) {
  const std::vector<Folder> folders = model_folders();
  std::string refused, expected;
  for (const bool optimize : {true, false}) {
    const RtlModelSources sources = rtl_model_sources(
        config, {.waves = kind.waves, .optimize = optimize, .core = kind.core}, hardware_folder(), kit_folder());
    expected += fmt::format("{}{}*.so", expected.empty() ? "" : " or ", rtl_model_prefix(sources));
    for (const Folder& folder : folders)
      for (const fs::path& path : candidates(folder.path, sources)) {
        const auto why = why_not(folder, path);
        if (!why) return path;
        refused += fmt::format("; {}: {}", path.string(), *why);
      }
  }
  std::vector<std::string> names;
  for (const Folder& folder : folders) names.push_back(folder.path.string());
  return Diagnostic{
      "there is no RTL model of this configuration", config.name,
      fmt::format(
          "each configuration, design and version of Verilator needs a separate model, and none of {} contains {}{}",
          fmt::join(names, ", "), expected, refused),
      remedy(config, kind)};
}

std::vector<std::string> built_rtl_models() {
  std::vector<std::string> names;
  if (!has_rtl_models()) return names;
  for (const isa::HardwareConfig& config : isa::named_configs())
    if (find_rtl_model(config, false).ok()) names.push_back(config.name);
  return names;
}

bool has_rtl_models() {
  return std::ranges::any_of(model_folders(), [](const Folder& folder) {
    return std::ranges::any_of(entries_of(folder.path), [](const fs::path& path) {
      return path.filename().string().starts_with("rtl-") && path.extension() == ".so";
    });
  });
}

}  // namespace dovetail::simulator
