// The area of a design point: the result of Yosys on hw/rtl with one of the flows in hw/syn.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "driver/hardware_synthesis.h"
#include "isa/config.h"

namespace dovetail::driver {

// The flows; each is hw/syn/<name>.ys. `generic` counts gates and bits of memory, the others resources of an FPGA.
struct AreaFlow {
  std::string_view name, description;
};
inline constexpr AreaFlow kAreaFlows[] = {{"generic", "gates of two inputs, flip-flops, bits of memory"},
                                          {"xc7", "Xilinx 7 series"},
                                          {"xcup", "Xilinx UltraScale+"},
                                          {"ecp5", "Lattice ECP5"}};

// The resources that a flow counts, in the order of a table.
struct AreaResource {
  std::string_view key, title;
};
std::vector<AreaResource> area_resources(std::string_view flow);

// What a reader of the blocks must know; empty: each block's counts are its own.
std::string_view area_note(std::string_view flow);

// A block of the design with everything in it. Blocks of the same kind within the same block share a row.
struct AreaRow {
  std::string path = {};  // instance names, joined by '/'; empty: the whole design
  std::string module = {};
  std::int64_t instances = 1;           // number in the whole design
  std::vector<std::int64_t> used = {};  // in the order of area_resources()
};

struct Area {
  std::string config = {}, flow = {}, tool = {};  // the tool with its version
  std::string inputs = {};                        // synthesis_inputs() of the run
  std::vector<AreaRow> rows = {};                 // depth first; the first is the whole design
  std::int64_t logic_levels = 0;  // maximum number of gates or logic cells between registers, memories and DSPs
  std::string longest_from = {}, longest_to = {};
};

// Runs Yosys in a temporary folder. Errors: Yosys is not installed, there is no design, or Yosys reports an error.
// Takes minutes for large arrays.
Result<Area> run_area(const isa::HardwareConfig& config, std::string_view flow);

struct CommittedArea {
  Area area;
  bool fresh = false;  // measured with the current design and flow
};
// The result in hw/syn/results; nullopt if there is no stored run with these parameters. Error: a malformed file.
Result<std::optional<CommittedArea>> committed_area(const isa::HardwareConfig& config, std::string_view flow);

Json area_to_json(const Area& area);
Result<Area> area_from_json(const Json& json, std::string_view where);

// The output of the flows' scripts: an instance tree (dump -m), the cells of each module (stat), the longest path (ltp)
// and, of a flow that flattens the design, the names of the cells of each kind (select -write).
struct AreaTexts {
  std::string tree, cells, depth;
  std::map<std::string, std::string, std::less<>> names = {};
};
Result<Area> parse_area(std::string_view flow, const AreaTexts& texts, std::string_view top = "dovetail_top");

// Reads these texts in the folder of a synthesis, and parses them.
Result<Area> area_of(const Synthesis& synthesis, const isa::HardwareConfig& config, std::string_view flow,
                     const DesignTop& top = {});

}  // namespace dovetail::driver
