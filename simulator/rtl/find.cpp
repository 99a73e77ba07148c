#include "simulator/rtl/find.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <ranges>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/hash.h"
#include "isa/emit/emit.h"
#include "simulator/rtl/model_api.h"

namespace dovetail::simulator {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

// The sources in a fixed order; empty where the folder is none of a design.
std::vector<fs::path> sources_of(const fs::path& hardware) {
  std::vector<fs::path> sources;
  std::error_code ignored;
  for (const char* folder : {"rtl", "sva", "tb"})
    for (const auto& entry : fs::directory_iterator(hardware / folder, ignored))
      if (entry.path().extension() == ".sv") sources.push_back(entry.path());
  std::sort(sources.begin(), sources.end());
  return sources;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What this processor can do: models are compiled for it, and a home folder may be shared with another.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags") || line.starts_with("Features")) return line;
  return {};
}

fs::path cache_folder(const fs::path& hardware) {
  Hash hash;
  for (const fs::path& source : sources_of(hardware)) {
    hash.add(source.filename().string());
    hash.add(content(source));
  }
  hash.add(content(hardware / "tb" / "dovetail_model.cpp"));
  hash.add(processor());
  const fs::path cache = environment("XDG_CACHE_HOME") ? fs::path(*environment("XDG_CACHE_HOME"))
                         : environment("HOME")         ? fs::path(*environment("HOME")) / ".cache"
                                                       : fs::temp_directory_path();
  return cache / "dovetail" / "rtl" / hash.text();
}

std::string quoted(const fs::path& path) {
  std::string text = "'";
  for (const char c : path.string()) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// Where hw/ and what its test bench includes lie: share/dovetail beside the running program's bin/, or the source tree.
fs::path kit_folder() {
  std::error_code ignored;
  const fs::path installed =
      fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "share" / "dovetail";
  return fs::is_directory(installed / "hw" / "rtl", ignored) ? installed : fs::path(DOVETAIL_HW_FOLDER).parent_path();
}

bool is_installed(const char* program) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", program).c_str()) == 0;
}

}  // namespace

std::string rtl_model_file(const isa::HardwareConfig& config, bool waves) {
  isa::HardwareConfig nameless = config;
  nameless.name.clear();
  Hash hash;
  hash.add(isa::config_to_json(nameless).dump());
  return fmt::format("rtl-{}{}.so", hash.text(), waves ? "-waves" : "");
}

fs::path hardware_folder() { return environment("DOVETAIL_HW").value_or(kit_folder() / "hw"); }

Result<fs::path> find_rtl_model(const isa::HardwareConfig& config, bool waves) {
  const std::string file = rtl_model_file(config, waves);
  std::vector<fs::path> folders;
  if (const auto models = environment("DOVETAIL_RTL_MODELS")) folders.emplace_back(*models);
  folders.emplace_back(DOVETAIL_RTL_MODEL_FOLDER);
  folders.push_back(cache_folder(hardware_folder()));
  for (const fs::path& folder : folders)
    if (std::error_code ignored; fs::exists(folder / file, ignored)) return folder / file;
  return Diagnostic{
      "there is no RTL model of this configuration", config.name,
      fmt::format("Verilator makes one for each configuration, and none of {} holds {}",
                  fmt::join(folders | std::views::transform([](const fs::path& p) { return p.string(); }), ", "), file),
      fmt::format("{}dovetail rtl build --hw {}{}",
                  is_installed("verilator") ? "" : "install verilator, then: ", config.name, waves ? " --waves" : "")};
}

Result<fs::path> build_rtl_model(const isa::HardwareConfig& config, const RtlBuild& build) {
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot build the RTL model", config.name, std::move(why), std::move(hint)};
  };
  if (!is_installed("verilator")) return bad("there is no verilator on the PATH", "apt-get install verilator");
  const fs::path hardware = fs::absolute(build.rtl.empty() ? hardware_folder() : build.rtl);
  const std::vector<fs::path> sources = sources_of(hardware);
  if (sources.empty())
    return bad(fmt::format("no SystemVerilog below {}", hardware.string()),
               "set DOVETAIL_HW to the folder hw of the source tree");

  const fs::path into = fs::absolute(build.into.empty() ? cache_folder(hardware) : build.into);
  const std::string file = rtl_model_file(config, build.waves);
  const fs::path work = into / fmt::format("{}.{}.work", file, getpid());
  std::error_code error;
  fs::create_directories(work, error);
  if (error) return bad(fmt::format("{}: {}", work.string(), error.message()), "choose a folder that can be written");
  DOVETAIL_TRY(write_text_file(work / "dovetail_isa_pkg.sv", isa::emit_sv_package(config)));

  const fs::path log = into / (file + ".log");
  // Random power-up contents; assertions of the design stay on: they cost little and are half of the point.
  std::string verilate = fmt::format(
      "verilator --cc -O3 --x-assign fast --x-initial unique --assert --unroll-count 4096 --unroll-stmts 200000 "
      "--top-module dovetail_top{}{} --Mdir {} {}",
      build.waves ? " --trace-fst --trace-structs" : "", build.simulation_body ? "" : " -DDOVETAIL_SYNTHESIS_DOT",
      quoted(work / "v"), quoted(work / "dovetail_isa_pkg.sv"));
  for (const fs::path& source : sources) verilate += " " + quoted(source);
  // What Verilator's own sources and the model are compiled with.
  const std::string compile = fmt::format(
      "g++ -std=c++20 -{1} -fPIC -fvisibility=hidden -w -faligned-new -fcf-protection=none -DVL_USER_STOP "
      "-DVM_COVERAGE=0 -DVM_SC=0 "
      "-DVM_TRACE={0} -DVM_TRACE_FST={0} -DVM_TRACE_VCD=0 -I\"$root/include\" -I\"$root/include/vltstd\"",
      build.waves ? 1 : 0, build.optimise ? "O2 -march=native" : "O1");
  // Verilator's run time is compiled once a folder; the model is one unit, so that the optimiser sees all of it.
  const std::string script = fmt::format(
      R"(#!/bin/sh
# Builds {file}; written by dovetail rtl build.
set -e
{verilate}
root=$(verilator --getenv VERILATOR_ROOT)
cd {work}
library=../../verilated{suffix}-$(verilator --version | tr -c 'A-Za-z0-9.\n' _).o
if [ ! -f "$library" ]; then
  for f in verilated.cpp verilated_threads.cpp{waves}; do printf '#include "%s"\n' "$root/include/$f"; done > run_time.cc
  {compile} -c run_time.cc -o run_time.o
  mv run_time.o "$library"
fi
for f in *.cpp {bench}; do printf '#include "%s"\n' "$f"; done > all.cc
{compile} {sizes} -I. -I{tree} -shared all.cc "$library" -o ../model.so{libraries}
)",
      fmt::arg("file", file), fmt::arg("verilate", verilate), fmt::arg("work", quoted(work / "v")),
      fmt::arg("suffix", build.waves ? "-waves" : ""), fmt::arg("waves", build.waves ? " verilated_fst_c.cpp" : ""),
      fmt::arg("compile", compile), fmt::arg("bench", quoted(hardware / "tb" / "dovetail_model.cpp")),
      fmt::arg(
          "sizes",
          fmt::format("-DDOVETAIL_UOP_BYTES={} -DDOVETAIL_WGT_BYTES={} -DDOVETAIL_INP_BYTES={} -DDOVETAIL_ACC_BYTES={}",
                      config.element_bytes(isa::Memory::uop), config.element_bytes(isa::Memory::wgt),
                      config.element_bytes(isa::Memory::inp), config.element_bytes(isa::Memory::acc))),
      fmt::arg("tree", quoted(kit_folder())), fmt::arg("libraries", build.waves ? " -lz" : ""));
  DOVETAIL_TRY(write_text_file(work / "build.sh", script));
  if (std::system(fmt::format("sh {} > {} 2>&1", quoted(work / "build.sh"), quoted(log)).c_str()) != 0) {
    const std::string said = content(log);
    return bad(said.substr(said.size() - std::min<std::size_t>(said.size(), 2000)),
               fmt::format("the whole log is {}", log.string()));
  }
  fs::rename(work / "model.so", into / file, error);
  if (error) return bad(error.message(), "choose a folder that can be written");
  fs::remove_all(work, error);
  return into / file;
}

}  // namespace dovetail::simulator
