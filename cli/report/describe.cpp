#include "cli/report/describe.h"

#include <filesystem>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/expected_file.h"
#include "base/file.h"
#include "base/json_problem.h"
#include "base/npy.h"
#include "base/printable.h"
#include "base/text_table.h"
#include "bundle/code/program_summary.h"
#include "bundle/format.h"
#include "cli/program/program_input.h"
#include "cli/report/describe_bundle.h"
#include "cli/report/latency_text.h"
#include "cli/report/system_text.h"
#include "cli/report/text.h"
#include "compiler/import/onnx.h"
#include "compiler/import/wire.h"
#include "compiler/tune/records.h"
#include "driver/latency.h"
#include "driver/system.h"
#include "driver/value_text.h"
#include "isa/codec.h"
#include "isa/hardware_file.h"
#include "isa/text.h"
#include "simulator/trace/page.h"

namespace dovetail::cli {

namespace {

Json array_json(const NdArray& array) { return {{"dtype", name(array.dtype())}, {"shape", array.shape()}}; }

Result<Description> describe_npy(std::span<const std::byte> bytes, const std::string& path) {
  DOVETAIL_ASSIGN(const NdArray array, parse_npy(bytes, path));
  Json json = array_json(array);
  return Description{
      fmt::format("array         {}: {}\n", driver::type_text(array.dtype(), array.shape()), preview(array)),
      {{"kind", "npy"}, {"array", std::move(json)}}};
}

Result<Description> describe_npz(std::span<const std::byte> bytes, const std::string& path) {
  DOVETAIL_ASSIGN(const auto arrays, parse_npz(bytes, path));
  TextTable table({"array", "type", "values"});
  Json list = Json::object();
  for (const auto& [name, array] : arrays) {
    table.add({name, driver::type_text(array.dtype(), array.shape()), preview(array)});
    list[name] = array_json(array);
  }
  return Description{fmt::format("archive       {} arrays\n\n{}", arrays.size(), table.to_string()),
                     {{"kind", "npz"}, {"arrays", std::move(list)}}};
}

Result<Description> describe_json(std::string_view content, const std::string& path) {
  DOVETAIL_ASSIGN(Json json, parse_json(content, path));
  if (!json.is_object())
    return Diagnostic{"cannot inspect", path, fmt::format("the JSON has type {}, not object", json.type_name()),
                      "hardware configurations and reports are objects"};
  if (!json.contains("kind")) {
    DOVETAIL_ASSIGN(isa::Machine machine, isa::machine_from_json(json, path));
    machine.system.memory = isa::memory_from(machine.system.memory, std::filesystem::path(path).parent_path());
    DOVETAIL_ASSIGN(const driver::System system, driver::resolve_system(machine.system, path, {}));
    return Description{hardware_text(machine.configs()) + system_text(system),
                       {{"kind", "hardware"}, {"config", isa::portable_machine_json(machine)}}};
  }
  std::string text = fmt::format("report        {}\n\n",
                                 json["kind"].is_string() ? json["kind"].get<std::string>() : json["kind"].dump());
  TextTable table({"entry", "value"});
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) table.add({key, fmt::format("{} entries", value.size())});
    else if (value.is_array()) table.add({key, fmt::format("a list of {}", value.size())});
    else table.add({key, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  return Description{text + table.to_string(), std::move(json)};
}

Description describe_outline(const import::OnnxOutline& model, const std::vector<std::string>& notes) {
  std::string text = fmt::format("ONNX model    {}: IR {}, opset {}{}\n", model.graph, model.ir_version, model.opset,
                                 model.producer.empty() ? "" : ", by " + model.producer);
  for (const std::string& note : notes) text += fmt::format("note          {}\n", note);
  const auto borders = [&](std::string_view title, const std::vector<import::OnnxOutline::Border>& list) {
    Json json = Json::array();
    for (const auto& [name, type] : list) {
      text += fmt::format("{:<14}{}: {}\n", title, name, type);
      json.push_back({{"name", name}, {"type", type}});
    }
    return json;
  };
  const Json inputs = borders("input", model.inputs), outputs = borders("output", model.outputs);
  TextTable table({"operator", ">nodes"});
  for (const auto& [name, count] : model.operators) table.add({name, fmt::format("{}", count)});
  return Description{text + "\n" + table.to_string(),
                     {{"kind", "onnx"},
                      {"name", model.graph},
                      {"ir_version", model.ir_version},
                      {"opset", model.opset},
                      {"inputs", inputs},
                      {"outputs", outputs},
                      {"operators", model.operators},
                      {"notes", notes}}};
}

// Describes the imported model if its shapes are fixed; else the model as the file declares it, with its open extents.
Result<Description> describe_model(std::span<const std::byte> bytes, const std::string& path) {
  DOVETAIL_ASSIGN(import::OnnxOutline outline, import::outline_onnx(bytes, path));
  const auto imported =
      import::import_onnx(bytes, path, {.shapes = {}, .external_data_folder = import::external_data_folder(path)});
  if (!imported.ok()) {
    if (!outline.has_open_extents) return imported.errors();
    std::vector<std::string> notes{
        "as the file declares it: the kit compiles for fixed shapes, which --shape NAME=... "
        "of the other commands gives"};
    for (const Diagnostic& problem : imported.errors()) notes.push_back(problem.what + ": " + problem.why);
    return describe_outline(outline, notes);
  }
  const graph::Graph& graph = imported->graph;
  const auto borders = [&](const std::vector<graph::ValueId>& values) {
    std::vector<import::OnnxOutline::Border> list;
    for (const graph::ValueId id : values) list.push_back({graph.value(id).name, to_string(graph.value(id).type)});
    return list;
  };
  outline.graph = graph.name;
  outline.inputs = borders(graph.inputs), outline.outputs = borders(graph.outputs);
  outline.operators = imported->report.operators;
  return describe_outline(outline, imported->report.notes);
}

Result<Description> describe_program(std::span<const isa::Instruction> program, const isa::HardwareConfig& config) {
  const bundle::ProgramSummary summary = bundle::summarize(program);
  std::string kinds;
  for (const auto& [kind, count] : summary.kinds)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", kind, with_separators(count));
  return Description{
      fmt::format("program       {} instructions for {}\n              {}; {} tokens\n",
                  with_separators(summary.instructions), config.name, kinds, with_separators(summary.tokens)),
      {{"kind", "program"}, {"hardware", isa::config_to_json(config)}, {"program", bundle::to_json(summary)}}};
}

// A page of a run (simulator/trace/page.h) contains its data as JSON.
Result<Description> describe_page(std::string_view text, const std::string& path) {
  constexpr std::string_view kBegin = R"(<script type="application/json" id="data">)", kEnd = "</script>";
  const std::size_t begin = text.find(kBegin), end = text.find(kEnd, begin);
  if (begin == std::string_view::npos || end == std::string_view::npos)
    return Diagnostic{"cannot inspect", path, "the file is HTML, but not a page that --html writes",
                      "check that it is the right file"};
  DOVETAIL_ASSIGN(const Json data, parse_json(text.substr(begin + kBegin.size(), end - begin - kBegin.size()), path));
  try {
    Json programs = Json::array();
    TextTable table({"program", "hardware", ">instructions", ">cycles", ">time"});
    DOVETAIL_ASSIGN(const simulator::RunTime time,
                    simulator::run_time_from_json(data.contains("time") ? data["time"] : Json(nullptr), path));
    for (const Json& program : data.at("programs")) {
      const auto name = program.at("name").get<std::string>(), hardware = program.at("hardware").get<std::string>();
      const auto instructions = program.at("instructions").get<std::uint64_t>(),
                 cycles = program.at("whole").at("cycles").get<std::uint64_t>();
      const double seconds = time.clock_mhz ? static_cast<double>(cycles) / (*time.clock_mhz * 1e6) : 0;
      table.add({name, hardware, with_separators(instructions), with_separators(cycles),
                 time.clock_mhz ? milliseconds_text(seconds) : "-"});
      programs.push_back({{"name", name}, {"hardware", hardware}, {"instructions", instructions}, {"cycles", cycles}});
      if (time.clock_mhz) programs.back()["ms"] = seconds * 1e3;
    }
    const auto title = data.at("title").get<std::string>(), memory = data.at("memory").get<std::string>();
    return Description{fmt::format("page          of {}, memory {}\n\n{}", title, memory, table.to_string()),
                       {{"kind", "page"}, {"title", title}, {"memory", memory}, {"programs", programs}}};
  } catch (const Json::exception& error) {
    return Diagnostic{"cannot inspect", path,
                      fmt::format("the page's data is not valid: {}", json_problem(error.what())),
                      "write the page again with --html"};
  }
}

// Describes a database of tuning records. Other databases are rejected, including the points of a sweep, which are
// internal to explore.
Result<Description> describe_records(const std::string& path) {
  const auto opened = tune::Records::open(path, tune::Records::Open::read);
  if (!opened.ok()) return opened.errors();
  DOVETAIL_ASSIGN(const auto summaries, opened->summaries());
  std::set<std::string> tasks;
  std::int64_t records = 0, measured = 0;
  for (const tune::Records::Summary& summary : summaries) {
    tasks.insert(summary.task);
    for (const auto& [outcome, count] : summary.outcomes) {
      records += count;
      if (outcome == tune::Outcome::measured) measured += count;
    }
  }
  return Description{
      fmt::format("records       of tuning: {} tasks, {} candidates, {} of them measured; `dovetail records "
                  "list {}` lists the best candidate of each\n",
                  tasks.size(), records, measured, printable(path)),
      {{"kind", "records"}, {"tasks", tasks.size()}, {"records", records}, {"measured", measured}}};
}

Result<Description> describe_content(std::span<const std::byte> bytes, const std::string& path,
                                     const std::optional<isa::HardwareConfig>& config) {
  if (bytes.empty()) return Diagnostic{"cannot inspect", path, "the file is empty", "check that it is the right file"};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::filesystem::path extension = std::filesystem::path(path).extension();
  if (text.starts_with(bundle::format::kMagic)) return describe_bundle(bytes, path);
  if (text.starts_with("\x93NUMPY")) return describe_npy(bytes, path);
  if (text.starts_with("PK")) return describe_npz(bytes, path);
  if (text.starts_with("<!doctype html>")) return describe_page(text, path);
  if (text.starts_with("SQLite format 3")) return describe_records(path);
  if (is_assembly(path)) {
    DOVETAIL_ASSIGN(const isa::Assembly assembly, isa::parse_assembly(text, path, config, read_data_files_near(path)));
    return describe_program(assembly.program, assembly.config);
  }
  if (config) {
    DOVETAIL_ASSIGN(const auto program, isa::Codec(*config).decode_program(bytes, path));
    return describe_program(program, *config);
  }
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '['))
    return describe_json(text.substr(first), path);
  if (extension == ".pb") {
    DOVETAIL_ASSIGN(const NdArray array, import::parse_tensor_proto(bytes, path));
    return Description{
        fmt::format("ONNX tensor   {}: {}\n", driver::type_text(array.dtype(), array.shape()), preview(array)),
        {{"kind", "tensor"}, {"array", array_json(array)}}};
  }
  if (extension == ".onnx") return describe_model(bytes, path);
  return Diagnostic{
      "cannot inspect", path, "the kind of its content is unknown",
      "the known kinds are bundles, .npy, .npz, JSON, pages of runs, databases of records, .onnx, .pb and .s; add "
      "--hw CONFIG for a "
      "raw program"};
}

}  // namespace

namespace {

// What an endless device is not: binary formats by their magic, and text.
bool may_begin_known(std::span<const std::byte> so_far) {
  const std::string_view text(reinterpret_cast<const char*>(so_far.data()), so_far.size());
  return is_npy(so_far) || text.starts_with(bundle::format::kMagic) || text.starts_with("PK") ||
         text.find('\0') == text.npos || onnx::may_begin_message(so_far);
}

}  // namespace

Result<Description> describe(const std::string& path, const std::optional<std::string>& hardware) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 32;
  const ExpectedFile expected = hardware ? ExpectedFile{} : ExpectedFile{"a file that the kit knows", may_begin_known};
  DOVETAIL_ASSIGN(const auto bytes, read_file(path, kMostBytes, expected));
  std::optional<isa::HardwareConfig> config;
  if (hardware) {
    DOVETAIL_ASSIGN(config, isa::load_config(*hardware));
  }
  DOVETAIL_ASSIGN(Description description, describe_content(bytes, path, config));
  description.bytes = bytes.size();
  return description;
}

}  // namespace dovetail::cli
