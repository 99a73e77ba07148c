// Reports of nextpnr, and results of place and route.
#include "driver/pnr_result.h"

#include "tests/catch.h"

namespace dovetail::driver {

namespace {

const InstanceTree& tree_of_load() {
  static const InstanceTree tree = InstanceTree::parse(
      "module \\dovetail_top\n  cell \\dovetail_load \\u_load\n  end\nend\n"
      "module \\dovetail_load\n  cell \\dovetail_axi_split \\u_split\n  end\nend\n",
      "dovetail_top");
  return tree;
}

// The form of nextpnr 0.11.1, shortened: a path of `tiny` from a register through a carry chain of two cells and a LUT
// into another register.
constexpr const char* kReport = R"({
  "critical_paths": [
    {"from": "<async>", "to": "posedge clk_i", "path": []},
    {"from": "posedge clk_i", "to": "posedge clk_i", "path": [
      {"type": "clk-to-q", "delay": 0.525, "from": {"cell": "u_load.u_split.left_q_TRELLIS_FF_Q_13", "port": "Q"},
       "to": {"cell": "u_load.u_split.left_q_TRELLIS_FF_Q_13", "port": "Q"}},
      {"type": "routing", "delay": 1.1, "net": "u_load.u_split.left_q[4]", "to": {"cell": "x", "port": "B"}},
      {"type": "logic", "delay": 0.4, "to": {"cell": "x", "port": "FCO"}},
      {"type": "routing", "delay": 0, "net": "$nextpnr_CCU2C_51$CIN", "to": {"cell": "y", "port": "FCI"}},
      {"type": "logic", "delay": 0.1, "to": {"cell": "y", "port": "F"}},
      {"type": "routing", "delay": 0.9, "net": "u_load.u_split.burst_LUT4_Z_16_A[5]", "to": {"cell": "z", "port": "A"}},
      {"type": "logic", "delay": 0.2, "to": {"cell": "z", "port": "F"}},
      {"type": "routing", "delay": 0.7, "net": "grant[1]", "to": {"cell": "u_load.credit_q_TRELLIS_FF_Q_1", "port": "DI"}},
      {"type": "setup", "delay": 0.05, "to": {"cell": "u_load.credit_q_TRELLIS_FF_Q_1", "port": "DI"}}
    ]}
  ],
  "fmax": {"clk_i": {"achieved": 53.01, "constraint": 60}},
  "utilization": {
    "TRELLIS_COMB": {"used": 14442, "available": 83640}, "TRELLIS_RAMW": {"used": 291, "available": 10455},
    "TRELLIS_FF": {"used": 3153, "available": 83640}, "MULT18X18D": {"used": 28, "available": 156},
    "DP16KD": {"used": 0, "available": 208}, "TRELLIS_IO": {"used": 0, "available": 365}
  }
})";

}  // namespace

TEST_CASE("a report of nextpnr: clock, path by blocks and signals, use of the device") {
  const PnrReport report = parse_pnr_report(parse_json(kReport, "report").value(), "tiny", tree_of_load()).value();
  CHECK(report.clock_mhz == 53.01);
  CHECK(report.critical.from == "u_load/u_split/left_q");
  CHECK(report.critical.to == "u_load/credit_q");
  CHECK(report.critical.logic_ns == Approx(0.525 + 0.4 + 0.1 + 0.2 + 0.05));
  CHECK(report.critical.routing_ns == Approx(1.1 + 0.9 + 0.7));
  REQUIRE(report.critical.steps.size() == 3);
  // The inner net of the carry chain has no signal: it belongs to the step before.
  CHECK(report.critical.steps[0].signal == "left_q");
  CHECK(report.critical.steps[0].logic_ns == Approx(0.925));
  CHECK(report.critical.steps[1].path == "u_load/u_split");
  CHECK(report.critical.steps[1].module == "dovetail_axi_split");
  CHECK(report.critical.steps[1].signal == "burst");
  CHECK(report.critical.steps[2].path.empty());
  CHECK(report.critical.steps[2].signal == "grant");
  CHECK(report.critical.steps[2].logic_ns == Approx(0.25));  // with the setup time
  REQUIRE(report.used.size() == 5);
  CHECK(report.used[3].cell == "MULT18X18D");
  CHECK(report.used[3].used == 28);
  CHECK(report.used[3].available == 156);
}

TEST_CASE("reports that are not nextpnr's") {
  const auto error = [](const char* from, const char* to) {
    std::string text = kReport;
    text.replace(text.find(from), std::string_view(from).size(), to);
    return parse_pnr_report(parse_json(text, "report").value(), "tiny", tree_of_load()).errors().front().why;
  };
  CHECK(error("\"fmax\"", "\"other\"").find("fmax") != std::string::npos);
  CHECK(error("{\"clk_i\": {\"achieved\": 53.01, \"constraint\": 60}}", "{}") == "it has no clock");
  CHECK(error("\"clk_i\": {\"achieved\"", "\"clk_x\": {\"achieved\"") == "it has no path of clock clk_x");
  CHECK(error("DP16KD", "DP32KD").find("DP16KD") != std::string::npos);
  CHECK(error("\"achieved\": 53.01", "\"achieved\": 1e308") == "a clock of 1e+308 MHz is impossible");
  CHECK(error("\"delay\": 0.525", "\"delay\": -9") == "its critical path has a negative delay");
  CHECK(error("\"used\": 28", "\"used\": -7") == "-7 of 156 MULT18X18D cannot be in use");
}

TEST_CASE("a result of place and route, written and read") {
  Pnr pnr;
  pnr.area = Area{.config = "tiny", .flow = "ecp5", .tool = "Yosys 0.23", .inputs = "12", .logic_levels = 20};
  pnr.area.rows = {{.path = "", .module = "dovetail_top", .used = {7479, 1164, 3153, 28, 0, 1146, 1736}}};
  pnr.device = "LFE5U-85F-6 CABGA381";
  pnr.placer = "nextpnr-0.11.1";
  pnr.date = "2026-11-30";
  pnr.inputs = "34";
  pnr.target_mhz = 60;
  const PnrPath path{1.25, 2.5, "a_q", "u_load/b_q", {{"u_load", "dovetail_load", "b_q", 1.25, 2.5}}};
  pnr.runs = {{1, 53.011, 134, path}, {2, 55.5, 120, path}, {3, 51, 125, path}};
  pnr.used = {{"TRELLIS_COMB", "LUT", 11851, 83640},
              {"TRELLIS_RAMW", "write ports of LUT RAM", 290, 10455},
              {"TRELLIS_FF", "FF", 3948, 83640},
              {"MULT18X18D", "DSP", 28, 156},
              {"DP16KD", "block RAM", 0, 208}};
  CHECK(pnr.best().seed == 2);
  const Json json = pnr_to_json(pnr);
  CHECK(json.at("clock_mhz") == 55.5);
  CHECK(pnr_to_json(pnr_from_json(json, "kept").value()) == json);
  Json without = json;
  without.erase("runs");
  CHECK(pnr_from_json(without, "kept.json").errors().front().where == "kept.json");
  // Each planted damage is refused, and the reason names it.
  const auto damaged = [&](const char* pointer, const Json& value) {
    Json copy = json;
    copy[Json::json_pointer(pointer)] = value;
    return pnr_from_json(copy, "kept.json").errors().front().why;
  };
  CHECK(damaged("/runs", Json::array()) == "it has no runs");
  CHECK(damaged("/runs/0/seed", -1) == "a run has seed -1");
  CHECK(damaged("/runs/0/seed", 2) == "seed 2 occurs twice");
  CHECK(damaged("/runs/0/clock_mhz", 0) == "the run of seed 1 has no clock");
  CHECK(damaged("/clock_mhz", 60.0) == "its clock is not that of its best run");
  CHECK(damaged("/config", "1x8x8") == "it and its area have different configurations");
  CHECK(damaged("/used", Json::array()) == "its use of the device is not that of each resource");
  CHECK(damaged("/target_mhz", -60) == "the placer cannot aim for -60 MHz");
  CHECK(damaged("/runs/1/critical_path/steps", Json::array()) == "the critical path of seed 2 is none");
  CHECK(damaged("/runs/0/critical_path/logic_ns", -3) == "the critical path of seed 1 is none");
  CHECK(damaged("/used/0/used", -1) == "-1 of 83640 TRELLIS_COMB cannot be in use");
  CHECK(damaged("/used/1/available", 0) == "290 of 0 TRELLIS_RAMW cannot be in use");
  CHECK(damaged("/used/4/cell", "DP32KD") == "its use of the device is not that of each resource");
}

}  // namespace dovetail::driver
