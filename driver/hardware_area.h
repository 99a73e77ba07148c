// The area of a design point: what Yosys makes of hw/rtl with one of the flows in hw/syn.
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

// The flows; each is hw/syn/<name>.ys. `generic` counts gates and bits of memory, the others what an FPGA offers.
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

// A block of the design with all that is in it. Blocks of one kind alongside each other are one row.
struct AreaRow {
  std::string path = {};  // instance names, joined by '/'; empty: the whole design
  std::string module = {};
  std::int64_t instances = 1;           // in the whole design
  std::vector<std::int64_t> used = {};  // as area_resources()
};

struct Area {
  std::string config = {}, flow = {}, tool = {};  // the tool with its version
  std::string inputs = {};                        // area_inputs() of the run
  std::vector<AreaRow> rows = {};                 // depth first; the first is the whole design
  std::int64_t logic_levels = 0;  // gates or cells of logic between registers, memories and DSPs, at most
  std::string longest_from = {}, longest_to = {};
};

// A number that changes when what the tool reads changes: the flow, the design without comments and assertions, and the
// package of this design point. Names of configurations do not count.
std::string area_inputs(const isa::HardwareConfig& config, std::string_view flow);

// Runs Yosys in its own folder. Error: it is not installed, there is no design, or what it said. Takes minutes for
// large arrays.
Result<Area> run_area(const isa::HardwareConfig& config, std::string_view flow);

struct CommittedArea {
  Area area;
  bool fresh = false;  // made from the design and the flow as they are now
};
// From hw/syn/results; nullopt where no run of these parameters is kept. Error: a file there that is none.
Result<std::optional<CommittedArea>> committed_area(const isa::HardwareConfig& config, std::string_view flow);

Json area_to_json(const Area& area);
Result<Area> area_from_json(const Json& json, std::string_view where);

// What the flows' scripts write, read: an instance tree (dump -m), the cells of each module (stat) and the longest way
// (ltp).
Result<Area> parse_area(std::string_view flow, std::string_view tree, std::string_view cells, std::string_view depth);

}  // namespace dovetail::driver
