#include "simulator/rtl/build.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/check.h"
#include "base/child_process.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/kit_folder.h"
#include "base/temporary.h"
#include "base/user_folder.h"
#include "simulator/rtl/find.h"
#include "simulator/rtl/model_file.h"

namespace dovetail::simulator {

namespace {

namespace fs = std::filesystem;

Diagnostic refusal(const isa::HardwareConfig& config, std::string why, std::string hint) {
  return {"cannot build the RTL model", config.name, std::move(why), std::move(hint)};
}

// One build. The name of its folder contains the process's number: subprocesses of a killed builder may still be
// writing into its folder.
class Build {
 public:
  Build(const isa::HardwareConfig& config, const RtlBuild& build, const RtlModelSources& sources, fs::path design,
        fs::path model)
      : config_(config),
        build_(build),
        sources_(sources),
        design_(std::move(design)),
        model_(std::move(model)),
        work_(fmt::format("{}.{}.work", model_.string(), getpid())) {}

  // Precondition: this process has locked the model.
  Result<void> run() {
    remove_interrupted();
    std::error_code error;
    fs::create_directories(work_.path(), error);
    if (error) return refusal(config_, fmt::format("{}: {}", work_.path().string(), error.message()), kChoose);
    DOVETAIL_TRY(write_text_file(work_.path() / "dovetail_isa_pkg.sv", sources_.package));
    if (!sources_.map.empty()) DOVETAIL_TRY(write_text_file(work_.path() / "dovetail_soc_pkg.sv", sources_.map));
    DOVETAIL_TRY(step("verilating", sources_.recipe.verilate));
    DOVETAIL_TRY(make_run_time());
    DOVETAIL_TRY(step("compiling the model", sources_.recipe.compile_model));
    DOVETAIL_TRY(seal_rtl_model(work_.path() / "model.so"));
    fs::rename(work_.path() / "model.so", model_, error);
    if (error) return refusal(config_, fmt::format("{}: {}", model_.string(), error.message()), kChoose);
    return {};
  }

 private:
  static constexpr const char* kChoose = "choose a folder that can be written";

  void report(std::string_view what) const {
    if (build_.report) build_.report(fmt::format("{}: {}", config_.name, what));
  }

  void remove_interrupted() const {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(model_.parent_path(), ignored))
      if (entry.path().extension() == ".work" &&
          entry.path().filename().string().starts_with(model_.filename().string() + "."))
        fs::remove_all(entry.path(), ignored);
  }

  fs::path run_time() const { return model_.parent_path() / rtl_run_time_file(sources_, verilator_version().value()); }

  // Compiles Verilator's run time, which is the same for all models, and as slow to compile as a small model.
  Result<void> make_run_time() {
    std::error_code ignored;
    if (fs::exists(run_time(), ignored)) return {};
    DOVETAIL_ASSIGN(const FileLock lock, FileLock::take(run_time().string() + ".lock"));
    if (fs::exists(run_time(), ignored)) return {};
    return step("compiling Verilator's run time", sources_.recipe.compile_run_time);
  }

  Result<void> step(std::string_view what, const std::string& script) {
    report(what);
    const fs::path log = work_.path() / "log";
    DOVETAIL_ASSIGN(const ChildEnd end, run_child({"set -ex\n" + script,
                                                   work_.path(),
                                                   {{"design", design_.string()},
                                                    {"kit", kit_folder().string()},
                                                    {"core", build_.kind.core.string()},
                                                    {"run_time", run_time().string()}},
                                                   log}));
    if (end.exit == 0) return {};
    if (end.signal != 0) return refusal(config_, fmt::format("{} was interrupted", what), "start the build again");
    std::string said = read_text_file(log).ok() ? read_text_file(log).value() : "";
    said.erase(0, said.size() - std::min<std::size_t>(said.size(), 2000));
    const fs::path kept = model_.string() + ".log";
    std::error_code error;
    fs::rename(log, kept, error);
    return refusal(config_, fmt::format("{} failed: {}", what, said),
                   fmt::format("the complete log is {}", kept.string()));
  }

  const isa::HardwareConfig& config_;
  const RtlBuild& build_;
  const RtlModelSources& sources_;
  fs::path design_, model_;
  TemporaryPath work_;
};

}  // namespace

std::optional<std::string> missing_rtl_tool() {
  if (!verilator_version()) return "verilator";
  return is_on_path("g++") ? std::nullopt : std::optional<std::string>("g++");
}

Result<BuiltRtlModel> build_rtl_model(const isa::HardwareConfig& config, const RtlBuild& build) {
  if (auto tool = missing_rtl_tool())
    return refusal(config, fmt::format("there is no {} on the PATH", *tool),
                   fmt::format("sudo apt-get install {}", *tool));
  const fs::path design = fs::absolute(build.design.empty() ? hardware_folder() : build.design);
  const bool cached = build.into.empty();
  fs::path into = build.into;
  if (cached) {
    DOVETAIL_ASSIGN(into, rtl_model_cache());
    DOVETAIL_TRY(make_private_folder(into));
  }
  into = fs::absolute(into);
  const RtlModelSources sources = rtl_model_sources(config, build.kind, design, kit_folder());
  if (sources.design.empty())
    return refusal(config, fmt::format("no SystemVerilog below {}", design.string()), kKitHint);

  const fs::path model = into / rtl_model_file(sources, *verilator_version());
  std::error_code error;
  fs::create_directories(into, error);
  if (error) return refusal(config, fmt::format("{}: {}", into.string(), error.message()), "choose another folder");
  DOVETAIL_ASSIGN(const FileLock lock, FileLock::take(model.string() + ".lock", [&] {
                    if (build.report)
                      build.report(fmt::format("{}: waiting for another process, which builds it", config.name));
                  }));
  const bool is_there = fs::exists(model, error) && !rtl_model_damage(model);
  if (is_there && !(cached && other_hands(model))) return BuiltRtlModel{model, false};
  DOVETAIL_TRY(Build(config, build, sources, design, model).run());
  return BuiltRtlModel{model, true};
}

Result<fs::path> find_or_build_rtl_model(const isa::HardwareConfig& config, const RtlBuild& build) {
  DOVETAIL_CHECK(build.design.empty() && !build.kind.synthesized_dot,
                 "find_rtl_model() does not look for such a model");
  if (auto found = find_rtl_model(config, build.kind); found.ok()) return found;
  fs::path into = build.into;
  if (into.empty()) {
    DOVETAIL_ASSIGN(into, rtl_model_cache());
  }
  if (build.report)
    build.report(fmt::format("{}: there is no {} model yet; it is built once, into {}", config.name,
                             build.kind.is_system() ? "Verilated" : "RTL", into.string()));
  DOVETAIL_ASSIGN(BuiltRtlModel built, build_rtl_model(config, build));
  return std::move(built.path);
}

}  // namespace dovetail::simulator
