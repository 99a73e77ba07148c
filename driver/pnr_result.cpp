#include "driver/pnr_result.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json_problem.h"

namespace dovetail::driver {

namespace {

struct ResourceRow {
  std::string_view cell, title;
};
constexpr std::array kResources{ResourceRow{"TRELLIS_COMB", "LUT"},
                                ResourceRow{"TRELLIS_RAMW", "write ports of LUT RAM"}, ResourceRow{"TRELLIS_FF", "FF"},
                                ResourceRow{"MULT18X18D", "DSP"}, ResourceRow{"DP16KD", "block RAM"}};

Diagnostic bad_report(std::string_view where, std::string why) {
  return {"cannot read the report of nextpnr", std::string(where), std::move(why),
          "dovetail was tested with nextpnr 0.11.1"};
}

constexpr double kMostMhz = 1e4;  // of any FPGA, and of a placer's aim

bool is_clock(double mhz) { return mhz > 0 && mhz < kMostMhz; }

bool is_possible(const PnrUse& use) { return use.available > 0 && use.used >= 0 && use.used <= use.available; }

std::string impossible_use(const PnrUse& use) {
  return fmt::format("{} of {} {} cannot be in use", use.used, use.available, use.cell);
}

constexpr const char* kAgain = "make it again: `dovetail hw pnr CONFIG --core --run --json`";

std::string with_block(const InstanceTree::Place& place) {
  const std::string signal = signal_of(place.name);
  return place.path.empty() ? signal : place.path + "/" + signal;
}

// Adds the entries of a path one after another.
class PathReader {
 public:
  explicit PathReader(const InstanceTree& names) : names_(names) {}

  void add(const Json& entry) {
    const double ns = entry.at("delay").get<double>();
    if (entry.at("type") != "routing") {
      path_.logic_ns += ns;
      logic_ns_ += ns;
      last_cell_ = entry.at("to").at("cell").get<std::string>();
      return;
    }
    path_.routing_ns += ns;
    const InstanceTree::Place place = names_.locate(entry.at("net").get<std::string>());
    const std::string signal = signal_of(place.name);
    const bool is_same =
        !path_.steps.empty() &&
        (signal.empty() || (path_.steps.back().path == place.path && path_.steps.back().signal == signal));
    if (!is_same) path_.steps.push_back({place.path, module_name(place.type), signal});
    path_.steps.back().logic_ns += logic_ns_;
    path_.steps.back().routing_ns += ns;
    logic_ns_ = 0;
  }

  PnrPath end() {
    if (path_.steps.empty()) return {};
    path_.steps.back().logic_ns += logic_ns_;  // the setup time of the last register
    const PnrStep& first = path_.steps.front();
    path_.from = first.path.empty() ? first.signal : first.path + "/" + first.signal;
    path_.to = with_block(names_.locate(last_cell_));
    return std::move(path_);
  }

 private:
  const InstanceTree& names_;
  PnrPath path_;
  double logic_ns_ = 0;
  std::string last_cell_;
};

}  // namespace

const PnrRun& Pnr::best() const {
  DOVETAIL_CHECK(!runs.empty(), "a result without runs");
  return *std::ranges::max_element(runs, {}, &PnrRun::clock_mhz);
}

Result<PnrReport> parse_pnr_report(const Json& json, std::string_view where, const InstanceTree& names) {
  PnrReport report;
  try {
    // The slowest clock: of a board, that of the accelerator.
    std::string clock;
    for (const auto& [name, value] : json.at("fmax").items())
      if (const double mhz = value.at("achieved").get<double>(); clock.empty() || mhz < report.clock_mhz) {
        report.clock_mhz = mhz;
        clock = name;
      }
    if (report.clock_mhz == 0) return bad_report(where, "it has no clock");
    if (!is_clock(report.clock_mhz))
      return bad_report(where, fmt::format("a clock of {:g} MHz is impossible", report.clock_mhz));
    for (const Json& path : json.at("critical_paths")) {
      if (path.at("from") != "posedge " + clock || path.at("to") != "posedge " + clock) continue;
      PathReader reader(names);
      for (const Json& entry : path.at("path")) reader.add(entry);
      report.critical = reader.end();
    }
    if (report.critical.logic_ns < 0 || report.critical.routing_ns < 0)
      return bad_report(where, "its critical path has a negative delay");
    if (report.critical.steps.empty()) return bad_report(where, fmt::format("it has no path of clock {}", clock));
    for (const ResourceRow& row : kResources) {
      const Json& use = json.at("utilization").at(std::string(row.cell));
      report.used.push_back({std::string(row.cell), std::string(row.title), use.at("used").get<std::int64_t>(),
                             use.at("available").get<std::int64_t>()});
      if (!is_possible(report.used.back())) return bad_report(where, impossible_use(report.used.back()));
    }
  } catch (const Json::exception& error) {
    return bad_report(where, json_problem(error.what()));
  }
  return report;
}

namespace {

// Picoseconds are what the delays of the placer resolve.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }

Json path_to_json(const PnrPath& path) {
  Json steps = Json::array();
  for (const PnrStep& step : path.steps)
    steps.push_back({{"path", step.path},
                     {"module", step.module},
                     {"signal", step.signal},
                     {"logic_ns", rounded(step.logic_ns)},
                     {"routing_ns", rounded(step.routing_ns)}});
  return {{"from", path.from},
          {"to", path.to},
          {"logic_ns", rounded(path.logic_ns)},
          {"routing_ns", rounded(path.routing_ns)},
          {"steps", std::move(steps)}};
}

PnrPath path_from_json(const Json& json) {
  PnrPath path{json.at("logic_ns"), json.at("routing_ns"), json.at("from"), json.at("to")};
  for (const Json& step : json.at("steps"))
    path.steps.push_back(
        {step.at("path"), step.at("module"), step.at("signal"), step.at("logic_ns"), step.at("routing_ns")});
  return path;
}

// Why a result that has all its members is none of `hw pnr`; empty: it may be one.
std::string inconsistency(const Json& json, const Pnr& pnr) {
  if (pnr.runs.empty()) return "it has no runs";
  std::set<std::int64_t> seeds;
  for (const PnrRun& run : pnr.runs) {
    if (run.seed < 0) return fmt::format("a run has seed {}", run.seed);
    if (!seeds.insert(run.seed).second) return fmt::format("seed {} occurs twice", run.seed);
    if (!is_clock(run.clock_mhz)) return fmt::format("the run of seed {} has no clock", run.seed);
    const PnrPath& path = run.critical;
    if (path.steps.empty() || path.logic_ns < 0 || path.routing_ns < 0)
      return fmt::format("the critical path of seed {} is none", run.seed);
  }
  if (!is_clock(pnr.target_mhz)) return fmt::format("the placer cannot aim for {:g} MHz", pnr.target_mhz);
  if (json.at("clock_mhz") != rounded(pnr.best().clock_mhz)) return "its clock is not that of its best run";
  if (json.at("config") != pnr.area.config) return "it and its area have different configurations";
  if (!std::ranges::equal(pnr.used, kResources, {}, &PnrUse::cell, &ResourceRow::cell))
    return "its use of the device is not that of each resource";
  for (const PnrUse& use : pnr.used)
    if (!is_possible(use)) return impossible_use(use);
  return {};
}

}  // namespace

Json pnr_to_json(const Pnr& pnr) {
  Json json = {{"config", pnr.area.config}, {"flow", pnr.area.flow}, {"device", pnr.device}};
  if (!pnr.board.empty()) json["board"] = pnr.board;
  json["placer"] = pnr.placer;
  json["date"] = pnr.date;
  json["inputs"] = pnr.inputs;
  json["target_mhz"] = pnr.target_mhz;
  json["clock_mhz"] = rounded(pnr.best().clock_mhz);
  for (const PnrRun& run : pnr.runs)
    json["runs"].push_back({{"seed", run.seed},
                            {"clock_mhz", rounded(run.clock_mhz)},
                            {"seconds", std::round(run.seconds)},
                            {"critical_path", path_to_json(run.critical)}});
  for (const PnrUse& use : pnr.used)
    json["used"].push_back(
        {{"cell", use.cell}, {"title", use.title}, {"used", use.used}, {"available", use.available}});
  json["area"] = area_to_json(pnr.area);
  return json;
}

Result<Pnr> pnr_from_json(const Json& json, std::string_view where) {
  const auto bad = [&](std::string why) {
    return Diagnostic{"cannot read a result of place and route", std::string(where), std::move(why), kAgain};
  };
  try {
    Pnr pnr;
    DOVETAIL_ASSIGN(pnr.area, area_from_json(json.at("area"), where));
    pnr.board = json.value("board", "");
    pnr.device = json.at("device");
    pnr.placer = json.at("placer");
    pnr.date = json.at("date");
    pnr.inputs = json.at("inputs");
    pnr.target_mhz = json.at("target_mhz");
    for (const Json& run : json.at("runs"))
      pnr.runs.push_back(
          {run.at("seed"), run.at("clock_mhz"), run.at("seconds"), path_from_json(run.at("critical_path"))});
    for (const Json& use : json.at("used"))
      pnr.used.push_back({use.at("cell"), use.at("title"), use.at("used"), use.at("available")});
    if (std::string why = inconsistency(json, pnr); !why.empty()) return bad(std::move(why));
    return pnr;
  } catch (const Json::exception& error) {
    return bad(json_problem(error.what()));
  }
}

}  // namespace dovetail::driver
