#include "driver/hardware_synthesis.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/kit_folder.h"
#include "base/text_stream.h"
#include "isa/emit/emit.h"
#include "simulator/rtl/find.h"

namespace dovetail::driver {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCore = "dovetail_top";

// The text of a source that synthesis reads: without comments, spaces at the ends of lines, and lines between `ifndef
// SYNTHESIS or `ifdef FORMAL and their `endif. (No string of the design contains a comment.)
std::string essence(std::string_view text) {
  std::string kept;
  TextStream lines{std::string(text)};
  bool skipped = false;
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t comment = std::min(line.find("//"), line.starts_with('#') ? std::size_t{0} : line.npos);
        comment != line.npos)
      line.resize(comment);
    const std::size_t begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
    if (begin == line.npos) continue;
    line = line.substr(begin, end - begin + 1);
    if (line == "`ifndef SYNTHESIS" || line == "`ifdef FORMAL") skipped = true;
    if (!skipped) kept += line + '\n';
    if (line == "`endif") skipped = false;
  }
  return kept;
}

std::vector<fs::path> design_sources(const DesignTop& top) {
  std::vector<fs::path> sources;
  for (const std::string_view source : top.sources) {
    const fs::path path = simulator::hardware_folder() / source;
    if (path.extension() == ".sv") {
      sources.push_back(path);
      continue;
    }
    for (const fs::path& file : entries_of(path))
      if (file.extension() == ".sv") sources.push_back(file);
  }
  return sources;
}

fs::path script_of(std::string_view flow) { return simulator::hardware_folder() / "syn" / fmt::format("{}.ys", flow); }

// The flow's script for another top.
std::string script_for(std::string script, const DesignTop& top) {
  for (std::size_t at = 0; (at = script.find(kCore, at)) != script.npos; at += top.module.size())
    script.replace(at, kCore.size(), top.module);
  return script;
}

}  // namespace

std::string log_tail(const fs::path& file) {
  constexpr std::size_t kMostBytes = 1500;
  const auto text = read_text_file(file);
  return !text.ok() ? std::string() : text->substr(text->size() - std::min(text->size(), kMostBytes));
}

std::string synthesis_inputs(const isa::HardwareConfig& config, std::string_view flow, const DesignTop& top) {
  Hash hash;
  hash.add(flow);
  if (const auto script = read_text_file(script_of(flow)); script.ok()) hash.add(essence(*script));
  hash.add(essence(isa::emit_sv_package(config)));
  if (!top.wrapper.empty()) hash.add(essence(top.wrapper));
  for (const fs::path& source : design_sources(top)) {
    hash.add(source.filename().string());
    if (const auto text = read_text_file(source); text.ok()) hash.add(essence(*text));
  }
  return hash.text();
}

Result<Synthesis> synthesize(const isa::HardwareConfig& config, std::string_view flow, const DesignTop& top) {
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot synthesize the design", fmt::format("{}, flow {}", config.name, flow), std::move(why),
                      std::move(hint)};
  };
  if (!is_on_path("yosys"))
    return bad("yosys is not on the PATH", "sudo apt-get install --no-install-recommends yosys");
  const std::vector<fs::path> sources = design_sources(top);
  if (sources.empty())
    return bad(fmt::format("there is no SystemVerilog in {}", simulator::hardware_folder().string()), kKitHint);
  DOVETAIL_ASSIGN(const std::string script, read_text_file(script_of(flow)));

  DOVETAIL_ASSIGN(TemporaryPath folder, make_temporary_folder("area"));
  std::error_code error;
  fs::create_directory(folder.path() / "rtl", error);
  for (const fs::path& source : sources)
    if (!error) fs::copy_file(source, folder.path() / "rtl" / source.filename(), error);
  if (error) {
    Diagnostic problem = bad(fmt::format("cannot copy the design into {}: {}", folder.path().string(), error.message()),
                             "set TMPDIR to a writable folder with free space");
    problem.cause = cause_of(error.value());
    return problem;
  }
  DOVETAIL_TRY(write_text_file(folder.path() / "dovetail_isa_pkg.sv", isa::emit_sv_package(config)));
  if (!top.wrapper.empty())
    DOVETAIL_TRY(write_text_file(folder.path() / "rtl" / fmt::format("{}.sv", top.module), top.wrapper));
  DOVETAIL_TRY(write_text_file(folder.path() / "flow.ys", script_for(script, top)));
  DOVETAIL_ASSIGN(const ChildEnd end,
                  run_child({"yosys -V > version.txt 2>&1 && exec yosys -q -e 'implicitly declared' -s flow.ys",
                             folder.path(),
                             {},
                             folder.path() / "log.txt"}));
  if (end.exit != 0)
    return bad(fmt::format("Yosys failed: {}", log_tail(folder.path() / "log.txt")),
               "this is a defect of the design or of the flow");
  DOVETAIL_ASSIGN(const std::string version, read_text_file(folder.path() / "version.txt"));
  return Synthesis{std::move(folder), version.substr(0, version.find_last_not_of(" \n") + 1)};
}

}  // namespace dovetail::driver
