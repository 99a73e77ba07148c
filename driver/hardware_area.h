// The area of a design point: the result of Yosys on hw/rtl with one of the flows in hw/syn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/config.h"

namespace dovetail::driver {

// The flows; each is hw/syn/<name>.ys. `generic` counts gates and bits of memory, the others resources of an FPGA.
struct AreaFlow {
  std::string_view name, description;
};
inline constexpr AreaFlow kAreaFlows[] = {{"generic", "gates of two inputs, flip-flops, bits of memory"},
                                          {"xc7", "Xilinx 7 series"},
                                          {"xcup", "Xilinx UltraScale+"}};

// The resources that a flow counts, in the order of a table.
struct AreaResource {
  std::string_view key, title;
};
std::vector<AreaResource> area_resources(std::string_view flow);

// A block of the design with everything in it. Blocks of the same kind within the same block share a row.
struct AreaRow {
  std::string path = {};  // instance names, joined by '/'; empty: the whole design
  std::string module = {};
  std::int64_t instances = 1;           // number in the whole design
  std::vector<std::int64_t> used = {};  // in the order of area_resources()
};

struct Area {
  std::string config = {}, flow = {}, tool = {};  // the tool with its version
  std::string inputs = {};                        // area_inputs() of the run
  std::vector<AreaRow> rows = {};                 // depth first; the first is the whole design
  std::int64_t logic_levels = 0;  // maximum number of gates or logic cells between registers, memories and DSPs
  std::string longest_from = {}, longest_to = {};
};

// A hash of the tool's input: the flow, the design without comments and assertions, and the package of this design
// point. It does not depend on the name of the configuration.
std::string area_inputs(const isa::HardwareConfig& config, std::string_view flow);

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

// Parses the output of the flows' scripts: an instance tree (dump -m), the cells of each module (stat) and the longest
// path (ltp).
Result<Area> parse_area(std::string_view flow, std::string_view tree, std::string_view cells, std::string_view depth);

}  // namespace dovetail::driver
