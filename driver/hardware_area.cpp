#include "driver/hardware_area.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/json_problem.h"
#include "base/kit_folder.h"
#include "base/temporary.h"
#include "base/text_stream.h"
#include "isa/emit/emit.h"
#include "simulator/rtl/find.h"

namespace dovetail::driver {

namespace {

namespace fs = std::filesystem;

// ---- Resources
// ------------------------------------------------------------------------------------------------------------------------

struct Resource {
  AreaResource shown;
  // Cells that use the resource, by the beginning of their names, and the amount that each uses.
  std::vector<std::pair<std::string_view, std::int64_t>> cells;
};

// LUT RAM and shift registers use the LUTs of a slice: one for each output of the RAM, its write ports included.
std::vector<Resource> xilinx_resources() {
  return {{{"lut", "LUT"}, {{"LUT", 1}, {"INV", 1}}},
          {{"lut_ram", "LUT RAM"},
           {{"RAM32M16", 8},
            {"RAM32M", 4},
            {"RAM64M8", 8},
            {"RAM64M", 4},
            {"RAM32X1D", 2},
            {"RAM64X1D", 2},
            {"RAM128X1D", 4},
            {"RAM256X1D", 8},
            {"RAM32X1S", 1},
            {"RAM64X1S", 1},
            {"RAM128X1S", 2},
            {"RAM256X1S", 4},
            {"SRL16E", 1},
            {"SRLC32E", 1}}},
          {{"ff", "FF"}, {{"FD", 1}}},
          {{"dsp", "DSP"}, {{"DSP48", 1}}},
          {{"ramb18", "RAMB18"}, {{"RAMB18", 1}}},
          {{"ramb36", "RAMB36"}, {{"RAMB36", 1}}},
          {{"uram", "URAM"}, {{"URAM", 1}}},
          {{"carry", "CARRY"}, {{"CARRY", 1}}},
          {{"wide_mux", "MUXF"}, {{"MUXF", 1}}}};
}

std::vector<Resource> generic_resources() {
  return {{{"gates", "gates"}, {{"$_AND_", 1}, {"$_OR_", 1}, {"$_XOR_", 1}, {"$_MUX_", 1}, {"$_NOT_", 1}}},
          {{"ff", "FF"}, {{"$_DFF", 1}, {"$_SDFF", 1}, {"$_ALDFF", 1}, {"$_DLATCH", 1}}},
          {{"memory_bits", "memory bits"}, {}}};  // reported by the tool itself
}

std::vector<Resource> resources_of(std::string_view flow) {
  return flow == "generic" ? generic_resources() : xilinx_resources();
}

// Cells that are not counted.
bool is_free(std::string_view cell) {
  for (const std::string_view name : {"BUFG", "$mem", "VCC", "GND", "IBUF", "OBUF"})
    if (cell.starts_with(name)) return true;
  return false;
}

// ---- Output of the scripts
// -----------------------------------------------------------------------------------------------------------

std::string_view without_backslash(std::string_view name) { return name.starts_with('\\') ? name.substr(1) : name; }

// "$paramod$<hash>\name" and "$paramod\name\parameter=…" are instances of `name` with parameters.
std::string module_name(std::string_view type) {
  if (!type.starts_with("$paramod")) return std::string(type);
  const std::size_t begin = type.find('\\');
  if (begin == type.npos) return std::string(type);
  const std::size_t end = type.find('\\', begin + 1);
  return std::string(type.substr(begin + 1, end == type.npos ? type.npos : end - begin - 1));
}

// The name without the indices of generate blocks, whose instances share a row.
std::string kind_of(std::string_view instance) {
  std::string kind;
  bool index = false;
  for (const char c : instance) {
    if (c == '[') index = true;
    if (!index) kind += c;
    if (c == ']') index = false;
  }
  return kind;
}

using Counts = std::vector<std::int64_t>;
void add(Counts& to, const Counts& from, std::int64_t times = 1) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += times * from[i];
}

struct Netlist {
  std::map<std::string, std::vector<std::pair<std::string, std::string>>, std::less<>>
      children;  // module -> (instance, module)
  std::map<std::string, Counts, std::less<>> own;
};

class Tree {
 public:
  Tree(const Netlist& netlist, std::vector<AreaRow>& rows) : netlist_(netlist), rows_(rows) {}

  const Counts& inclusive(const std::string& module) {
    if (const auto known = inclusive_.find(module); known != inclusive_.end()) return known->second;
    Counts sum = netlist_.own.at(module);
    if (const auto below = netlist_.children.find(module); below != netlist_.children.end())
      for (const auto& [instance, child] : below->second) add(sum, inclusive(child));
    return inclusive_[module] = std::move(sum);
  }

  void walk(const std::string& module, const std::string& path, std::int64_t instances) {
    AreaRow row{
        .path = path, .module = module_name(module), .instances = instances, .used = Counts(inclusive(module).size())};
    add(row.used, inclusive(module), instances);
    rows_.push_back(std::move(row));
    const auto below = netlist_.children.find(module);
    if (below == netlist_.children.end()) return;
    // (kind, module) in the order of the first instance.
    std::vector<std::pair<std::string, std::string>> kinds;
    std::map<std::pair<std::string, std::string>, std::int64_t> number;
    for (const auto& [instance, child] : below->second) {
      const std::pair key{kind_of(instance), child};
      if (number[key]++ == 0) kinds.push_back(key);
    }
    std::sort(kinds.begin(), kinds.end());
    for (const auto& key : kinds)
      walk(key.second, path.empty() ? key.first : path + "/" + key.first, instances * number[key]);
  }

 private:
  const Netlist& netlist_;
  std::vector<AreaRow>& rows_;
  std::map<std::string, Counts> inclusive_;
};

// ---- Inputs
// ---------------------------------------------------------------------------------------------------------------------------

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

std::vector<fs::path> design_sources() {
  std::vector<fs::path> sources;
  for (const fs::path& path : entries_of(simulator::hardware_folder() / "rtl"))
    if (path.extension() == ".sv") sources.push_back(path);
  return sources;
}

fs::path script_of(std::string_view flow) { return simulator::hardware_folder() / "syn" / fmt::format("{}.ys", flow); }

// ---- Running
// --------------------------------------------------------------------------------------------------------------------------

std::string tail(const fs::path& file) {
  const auto text = read_text_file(file);
  return !text.ok() ? std::string() : text->substr(text->size() - std::min<std::size_t>(text->size(), 1500));
}

}  // namespace

std::vector<AreaResource> area_resources(std::string_view flow) {
  std::vector<AreaResource> shown;
  for (const Resource& resource : resources_of(flow)) shown.push_back(resource.shown);
  return shown;
}

Result<Area> parse_area(std::string_view flow, std::string_view tree, std::string_view cells, std::string_view depth) {
  const std::vector<Resource> resources = resources_of(flow);
  const auto bad = [&](std::string why) {
    return Diagnostic{"cannot read the output of Yosys", std::string(flow), std::move(why),
                      "dovetail was tested with Yosys 0.23 and 0.33"};
  };
  Netlist netlist;
  {
    TextStream lines{std::string(tree)};
    std::string module;
    for (std::string line; std::getline(lines, line);) {
      TextStream words(line);
      std::string keyword, first, second;
      words >> keyword >> first >> second;
      if (keyword == "module") module = without_backslash(first);
      if (keyword == "cell" && !module.empty())
        netlist.children[module].emplace_back(without_backslash(second), without_backslash(first));
    }
  }
  {
    TextStream lines{std::string(cells)};
    std::string module;
    bool counting = false;
    for (std::string line; std::getline(lines, line);) {
      TextStream words(line);
      std::string first, second;
      words >> first >> second;
      if (first == "===") {
        // "=== design hierarchy ===" has sums, which are computed here instead.
        module = second == "design" ? std::string() : second;
        counting = false;
        if (!module.empty()) netlist.own[module] = Counts(resources.size());
        continue;
      }
      if (module.empty()) continue;
      Counts& own = netlist.own[module];
      if (line.find("Number of memory bits:") != line.npos) {
        for (std::size_t i = 0; i < resources.size(); ++i)
          if (resources[i].shown.key == "memory_bits") own[i] += std::stoll(line.substr(line.find(':') + 1));
      } else if (line.find("Number of cells:") != line.npos) {
        counting = true;
      } else if (counting && !second.empty() && second.find_first_not_of("0123456789") == second.npos) {
        const std::int64_t number = std::stoll(second);
        if (first.find("dovetail_") != first.npos || is_free(first)) continue;
        bool known = false;
        for (std::size_t i = 0; i < resources.size() && !known; ++i)
          for (const auto& [name, each] : resources[i].cells)
            if (!known && first.starts_with(name)) {
              own[i] += number * each;
              known = true;
            }
        if (!known) return bad(fmt::format("cell {} of {} is of an unknown kind", first, module));
      }
    }
  }
  Area area{.flow = std::string(flow)};
  if (!netlist.own.contains("dovetail_top")) return bad("there is no module dovetail_top among the cells");
  for (const auto& [module, children] : netlist.children)
    for (const auto& [instance, child] : children)
      if (!netlist.own.contains(child))
        return bad(fmt::format("no cells are reported for {}, the module of instance {}", child, instance));
  Tree(netlist, area.rows).walk("dovetail_top", "", 1);

  TextStream lines{std::string(depth)};
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find("(length="); at != line.npos)
      area.logic_levels = std::stoll(line.substr(at + 8));
    TextStream words(line);
    std::string number, net;
    words >> number >> net;
    if (!number.ends_with(':') || number.find_first_not_of("0123456789:") != number.npos) continue;
    // Generated names are replaced by the name of their block, which the user knows.
    std::string name(without_backslash(net));
    if (name.starts_with("$flatten"))
      name = name.substr(8, name.find(".$") == name.npos ? name.npos : name.find(".$") - 8);
    std::erase(name, '\\');
    (number == "0:" ? area.longest_from : area.longest_to) = name;
  }
  if (area.logic_levels <= 0) return bad("the longest path is missing");
  return area;
}

std::string area_inputs(const isa::HardwareConfig& config, std::string_view flow) {
  Hash hash;
  hash.add(flow);
  if (const auto script = read_text_file(script_of(flow)); script.ok()) hash.add(essence(*script));
  hash.add(essence(isa::emit_sv_package(config)));
  for (const fs::path& source : design_sources()) {
    hash.add(source.filename().string());
    if (const auto text = read_text_file(source); text.ok()) hash.add(essence(*text));
  }
  return hash.text();
}

Result<Area> run_area(const isa::HardwareConfig& config, std::string_view flow) {
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot synthesize the design", fmt::format("{}, flow {}", config.name, flow), std::move(why),
                      std::move(hint)};
  };
  if (!is_on_path("yosys"))
    return bad("yosys is not on the PATH", "sudo apt-get install --no-install-recommends yosys");
  const std::vector<fs::path> sources = design_sources();
  if (sources.empty())
    return bad(fmt::format("there is no SystemVerilog in {}", simulator::hardware_folder().string()), kKitHint);
  DOVETAIL_ASSIGN(const std::string script, read_text_file(script_of(flow)));

  DOVETAIL_ASSIGN(const TemporaryPath folder, make_temporary_folder("area"));
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
  DOVETAIL_TRY(write_text_file(folder.path() / "flow.ys", script));
  DOVETAIL_ASSIGN(
      const ChildEnd end,
      run_child(
          {"yosys -V > version.txt 2>&1 && exec yosys -q -s flow.ys", folder.path(), {}, folder.path() / "log.txt"}));
  if (end.exit != 0)
    return bad(fmt::format("Yosys failed: {}", tail(folder.path() / "log.txt")),
               "this is a defect of the design or of the flow");
  std::array<std::string, 4> texts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    DOVETAIL_ASSIGN(texts[i],
                    read_text_file(folder.path() / std::array{"tree.txt", "cells.txt", "depth.txt", "version.txt"}[i]));
  }
  DOVETAIL_ASSIGN(Area area, parse_area(flow, texts[0], texts[1], texts[2]));
  area.config = config.name;
  area.tool = texts[3].substr(0, texts[3].find_last_not_of(" \n") + 1);
  area.inputs = area_inputs(config, flow);
  return area;
}

Result<std::optional<CommittedArea>> committed_area(const isa::HardwareConfig& config, std::string_view flow) {
  std::vector<fs::path> files;
  for (const fs::path& path : entries_of(simulator::hardware_folder() / "syn" / "results"))
    if (path.filename().string().ends_with(fmt::format(".{}.json", flow))) files.push_back(path);
  const std::string now = area_inputs(config, flow);
  std::optional<CommittedArea> stale;
  for (const fs::path& file : files) {
    DOVETAIL_ASSIGN(const Json json, read_json_file(file));
    DOVETAIL_ASSIGN(Area area, area_from_json(json, file.string()));
    if (area.inputs == now) {
      area.config = config.name;
      return std::optional<CommittedArea>({std::move(area), true});
    }
    // A stored run is used only for the kit's configuration of that name, not for another configuration with the same
    // name.
    for (const isa::HardwareConfig& named : isa::named_configs())
      if (named.name == area.config && named == config) stale = CommittedArea{std::move(area), false};
  }
  return stale;
}

Json area_to_json(const Area& area) {
  Json json = {{"config", area.config}, {"flow", area.flow}, {"tool", area.tool}, {"inputs", area.inputs}};
  json["logic_levels"] = area.logic_levels;
  json["longest_path"] = {{"from", area.longest_from}, {"to", area.longest_to}};
  Json blocks = Json::array();
  for (const AreaRow& row : area.rows) {
    Json block = {{"path", row.path}, {"module", row.module}, {"instances", row.instances}};
    const auto resources = area_resources(area.flow);
    for (std::size_t i = 0; i < resources.size(); ++i) block[std::string(resources[i].key)] = row.used[i];
    blocks.push_back(std::move(block));
  }
  json["blocks"] = std::move(blocks);
  return json;
}

Result<Area> area_from_json(const Json& json, std::string_view where) {
  try {
    Area area{
        .config = json.at("config"), .flow = json.at("flow"), .tool = json.at("tool"), .inputs = json.at("inputs")};
    area.logic_levels = json.at("logic_levels");
    area.longest_from = json.at("longest_path").at("from");
    area.longest_to = json.at("longest_path").at("to");
    for (const Json& block : json.at("blocks")) {
      AreaRow row{
          .path = block.at("path"), .module = block.at("module"), .instances = block.at("instances"), .used = {}};
      for (const AreaResource& resource : area_resources(area.flow))
        row.used.push_back(block.at(std::string(resource.key)));
      area.rows.push_back(std::move(row));
    }
    if (area.rows.empty() || !area.rows.front().path.empty())
      return Diagnostic{"cannot read an area", std::string(where), "the first block is not the whole design",
                        "measure it again: `dovetail hw area CONFIG --flow FLOW --run --json`"};
    return area;
  } catch (const Json::exception& error) {
    return Diagnostic{"cannot read an area", std::string(where), json_problem(error.what()),
                      "measure it again: `dovetail hw area CONFIG --flow FLOW --run --json`"};
  }
}

}  // namespace dovetail::driver
