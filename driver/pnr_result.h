// The result of placing and routing a design: the clocks that it reaches, its critical paths and its use of a device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "driver/hardware_area.h"
#include "driver/instance_tree.h"

namespace dovetail::driver {

// A stretch of a path through one signal of one block; the carry chain of a sum is one step.
struct PnrStep {
  std::string path = {};  // the block: instance names, joined by '/'; empty: the top
  std::string module = {}, signal = {};
  double logic_ns = 0, routing_ns = 0;  // through the cell that drives the signal, and along it
};

struct PnrPath {
  double logic_ns = 0, routing_ns = 0;
  std::string from = {}, to = {};  // registers, with their blocks
  std::vector<PnrStep> steps = {};
};

// One run of the placer.
struct PnrRun {
  std::int64_t seed = 0;
  double clock_mhz = 0;  // after routing
  double seconds = 0;    // that placing and routing took
  PnrPath critical = {};
};

struct PnrUse {
  std::string cell = {}, title = {};  // nextpnr's name, and a report's
  std::int64_t used = 0, available = 0;
};

struct Pnr {
  Area area = {};          // of the same run of Yosys: config, flow, counts of blocks
  std::string board = {};  // empty: the accelerator alone, without pins
  std::string device = {};
  std::string placer = {};  // nextpnr with its version
  std::string date = {};    // of the runs, UTC: "2026-11-30"
  std::string inputs = {};  // a hash of what the result depends on
  double target_mhz = 0;
  std::vector<PnrRun> runs = {};  // in the order of the seeds
  std::vector<PnrUse> used = {};

  const PnrRun& best() const;  // the run with the highest clock. Precondition: there are runs
};

// The part of nextpnr's report (--report) that a result has. `names`: the blocks of the netlist.
struct PnrReport {
  double clock_mhz = 0;
  PnrPath critical = {};
  std::vector<PnrUse> used = {};  // resources that logic uses, in the order of a table
};
// Error: the report has no clock, no path, or another form.
Result<PnrReport> parse_pnr_report(const Json& json, std::string_view where, const InstanceTree& names);

Json pnr_to_json(const Pnr& pnr);
Result<Pnr> pnr_from_json(const Json& json, std::string_view where);

}  // namespace dovetail::driver
