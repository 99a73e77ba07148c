#include "driver/hardware_area.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/json_problem.h"
#include "base/text_stream.h"
#include "driver/instance_tree.h"
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

// A LUT RAM of 16 words of 4 bits uses four LUTs, and two more hold its write port.
std::vector<Resource> ecp5_resources() {
  return {{{"lut", "LUT"}, {{"LUT4", 1}}},
          {{"lut_ram", "LUT RAM"}, {{"TRELLIS_DPR16X4", 4}}},
          {{"ff", "FF"}, {{"TRELLIS_FF", 1}}},
          {{"dsp", "DSP"}, {{"MULT18X18D", 1}}},
          {{"bram", "block RAM"}, {{"DP16KD", 1}}},
          {{"carry", "CARRY"}, {{"CCU2C", 1}}},
          {{"wide_mux", "MUX"}, {{"PFUMX", 1}, {"L6MUX21", 1}}}};
}

std::vector<Resource> resources_of(std::string_view flow) {
  return flow == "generic" ? generic_resources() : flow == "ecp5" ? ecp5_resources() : xilinx_resources();
}

// Cells that are not counted.
bool is_free(std::string_view cell) {
  for (const std::string_view name : {"BUFG", "$mem", "VCC", "GND", "IBUF", "OBUF", "EHXPLLL"})
    if (cell.starts_with(name)) return true;
  return false;
}

// ---- Output of the scripts
// -----------------------------------------------------------------------------------------------------------

using Counts = std::vector<std::int64_t>;
void add(Counts& to, const Counts& from, std::int64_t times = 1) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += times * from[i];
}

// The index of the resource that a kind of cell uses, and how much of it; nullopt: of an unknown kind.
struct Use {
  std::size_t resource = 0;
  std::int64_t each = 0;
};
std::optional<Use> use_of(std::string_view cell, const std::vector<Resource>& resources) {
  for (std::size_t i = 0; i < resources.size(); ++i)
    for (const auto& [name, each] : resources[i].cells)
      if (cell.starts_with(name)) return Use{i, each};
  return std::nullopt;
}

// Counts without those of inner blocks, by the type of the module; of a flat netlist, by the block's path and type.
using OwnCounts = std::map<std::pair<std::string, std::string>, Counts>;

class Tree {
 public:
  // `flat`: the counts are those of each path.
  Tree(const InstanceTree& instances, const OwnCounts& own, std::size_t resources, bool flat,
       std::vector<AreaRow>& rows)
      : instances_(instances), own_(own), resources_(resources), flat_(flat), rows_(rows) {}

  // Appends the rows of a block and of all blocks in it. Returns the counts of one instance, or of all of a flat
  // netlist.
  Counts walk(const std::string& type, const std::string& path, std::int64_t instances) {
    const std::size_t row = rows_.size();
    rows_.push_back({.path = path, .module = module_name(type), .instances = instances, .used = {}});
    const auto own = own_.find({flat_ ? path : std::string(), type});
    Counts sum = own == own_.end() ? Counts(resources_) : own->second;
    // (kind, type) in the order of their names.
    std::map<std::pair<std::string, std::string>, std::int64_t> kinds;
    for (const InstanceTree::Child& child : instances_.children(type)) ++kinds[{kind_of(child.instance), child.type}];
    for (const auto& [key, number] : kinds)
      add(sum, walk(key.second, path.empty() ? key.first : path + "/" + key.first, instances * number),
          flat_ ? 1 : number);
    rows_[row].used = Counts(resources_);
    add(rows_[row].used, sum, flat_ ? 1 : instances);
    return sum;
  }

 private:
  const InstanceTree& instances_;
  const OwnCounts& own_;
  std::size_t resources_;
  bool flat_;
  std::vector<AreaRow>& rows_;
};

// The counts of each module, from the output of stat. Error: a cell of an unknown kind, as text.
std::optional<std::string> count_cells(std::string_view cells, const std::vector<Resource>& resources, OwnCounts& own) {
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
      if (!module.empty()) own[{"", module}] = Counts(resources.size());
      continue;
    }
    if (module.empty()) continue;
    Counts& counts = own[{"", module}];
    if (line.find("Number of memory bits:") != line.npos) {
      for (std::size_t i = 0; i < resources.size(); ++i)
        if (resources[i].shown.key == "memory_bits") counts[i] += std::stoll(line.substr(line.find(':') + 1));
    } else if (line.find("Number of cells:") != line.npos) {
      counting = true;
    } else if (counting && !second.empty() && second.find_first_not_of("0123456789") == second.npos) {
      if (first.find("dovetail_") != first.npos || is_free(first)) continue;
      const auto use = use_of(first, resources);
      if (!use) return fmt::format("cell {} of {} is of an unknown kind", first, module);
      counts[use->resource] += std::stoll(second) * use->each;
    }
  }
  return std::nullopt;
}

// The counts of each block of a flat netlist, by the names of its cells: "dovetail_top/u_load.x_LUT4_Z".
OwnCounts count_names(const AreaTexts& texts, const std::vector<Resource>& resources, const InstanceTree& instances) {
  OwnCounts own;
  for (const auto& [kind, names] : texts.names) {
    const auto use = use_of(kind, resources);
    if (!use) continue;
    TextStream lines(names);
    for (std::string name; std::getline(lines, name);) {
      InstanceTree::Place place = instances.locate(std::string_view(name).substr(name.find('/') + 1));
      Counts& counts = own[{std::move(place.path), std::move(place.type)}];
      counts.resize(resources.size());
      counts[use->resource] += use->each;
    }
  }
  return own;
}

// `flat`: the blocks of a flat netlist.
void read_depth(std::string_view depth, const InstanceTree* flat, Area& area) {
  TextStream lines{std::string(depth)};
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find("(length="); at != line.npos)
      area.logic_levels = std::stoll(line.substr(at + 8));
    TextStream words(line);
    std::string number, net;
    words >> number >> net;
    if (!number.ends_with(':') || number.find_first_not_of("0123456789:") != number.npos) continue;
    // Generated names are replaced by the name of their block, which the user knows.
    std::string name = net.starts_with('\\') ? net.substr(1) : net;
    if (name.starts_with("$flatten"))
      name = name.substr(8, name.find(".$") == name.npos ? name.npos : name.find(".$") - 8);
    std::erase(name, '\\');
    if (flat) {
      const InstanceTree::Place place = flat->locate(name);
      name = place.path + (place.path.empty() ? "" : "/") + signal_of(place.name);
    }
    (number == "0:" ? area.longest_from : area.longest_to) = name;
  }
}

}  // namespace

std::vector<AreaResource> area_resources(std::string_view flow) {
  std::vector<AreaResource> shown;
  for (const Resource& resource : resources_of(flow)) shown.push_back(resource.shown);
  return shown;
}

std::string_view area_note(std::string_view flow) {
  if (flow != "ecp5") return {};
  return "the netlist is flat: registers, memories and DSPs count for their block, a LUT for the block that Yosys "
         "names it "
         "after, often that of its operands";
}

Result<Area> parse_area(std::string_view flow, const AreaTexts& texts, std::string_view top) {
  const std::vector<Resource> resources = resources_of(flow);
  const auto bad = [&](std::string why) {
    return Diagnostic{"cannot read the output of Yosys", std::string(flow), std::move(why),
                      "dovetail was tested with Yosys 0.23 and 0.33"};
  };
  const InstanceTree instances = InstanceTree::parse(texts.tree, top);
  OwnCounts modules;
  if (auto wrong = count_cells(texts.cells, resources, modules)) return bad(*std::move(wrong));
  const std::string whole(top);
  if (!modules.contains({"", whole})) return bad(fmt::format("there is no module {} among the cells", top));
  Area area{.flow = std::string(flow)};
  const bool flat = !texts.names.empty();
  if (!flat)
    for (const auto& [module, counts] : modules)
      for (const InstanceTree::Child& child : instances.children(module.second))
        if (!modules.contains({"", child.type}))
          return bad(
              fmt::format("no cells are reported for {}, the module of instance {}", child.type, child.instance));
  Tree(instances, flat ? count_names(texts, resources, instances) : modules, resources.size(), flat, area.rows)
      .walk(whole, "", 1);
  if (flat && area.rows.front().used != modules.at({"", whole}))
    return bad("the names of cells are not as many as the cells");
  read_depth(texts.depth, flat ? &instances : nullptr, area);
  if (area.logic_levels <= 0) return bad("the longest path is missing");
  return area;
}

Result<Area> area_of(const Synthesis& synthesis, const isa::HardwareConfig& config, std::string_view flow,
                     const DesignTop& top) {
  const fs::path& folder = synthesis.folder.path();
  AreaTexts texts;
  DOVETAIL_ASSIGN(texts.tree, read_text_file(folder / "tree.txt"));
  DOVETAIL_ASSIGN(texts.cells, read_text_file(folder / "cells.txt"));
  DOVETAIL_ASSIGN(texts.depth, read_text_file(folder / "depth.txt"));
  for (const Resource& resource : resources_of(flow))
    for (const auto& [kind, each] : resource.cells)
      if (const fs::path file = folder / fmt::format("{}.txt", kind); fs::exists(file)) {
        DOVETAIL_ASSIGN(texts.names[std::string(kind)], read_text_file(file));
      }
  DOVETAIL_ASSIGN(Area area, parse_area(flow, texts, top.module));
  area.config = config.name;
  area.tool = synthesis.tool;
  area.inputs = synthesis_inputs(config, flow, top);
  return area;
}

Result<Area> run_area(const isa::HardwareConfig& config, std::string_view flow) {
  DOVETAIL_ASSIGN(const Synthesis synthesis, synthesize(config, flow));
  return area_of(synthesis, config, flow);
}

Result<std::optional<CommittedArea>> committed_area(const isa::HardwareConfig& config, std::string_view flow) {
  std::vector<fs::path> files;
  // Areas of the flow ecp5 are kept with the results of place and route.
  const bool is_placed = flow == "ecp5";
  for (const fs::path& path : entries_of(simulator::hardware_folder() / "syn" / (is_placed ? "pnr" : "results")))
    if (path.filename().string().ends_with(fmt::format(".{}.json", flow))) files.push_back(path);
  const std::string now = synthesis_inputs(config, flow);
  std::optional<CommittedArea> stale;
  for (const fs::path& file : files) {
    DOVETAIL_ASSIGN(const Json json, read_json_file(file));
    DOVETAIL_ASSIGN(Area area, area_from_json(is_placed ? json.value("area", Json()) : json, file.string()));
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
