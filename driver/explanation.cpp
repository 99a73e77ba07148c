#include "driver/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json_problem.h"
#include "simulator/trace/profile.h"

namespace dovetail::driver {

namespace {

constexpr std::size_t kCauses = kTimeCauses.size(), kClock = kCauses - 2, kHost = kCauses - 1;
static_assert(kClock == simulator::kCycleCauseNames.size());

// A layer of the accelerator, or a step elsewhere.
struct Piece {
  std::vector<std::string> nodes = {};
  std::uint64_t cycles = 0, bytes_read = 0, bytes_written = 0;
  std::array<std::uint64_t, kClock> by_cause{};  // cycles
  double host_seconds = 0, joules = 0;
  std::string bound = {};  // of a layer

  Piece& operator+=(const Piece& other) {
    cycles += other.cycles;
    bytes_read += other.bytes_read;
    bytes_written += other.bytes_written;
    for (std::size_t c = 0; c < kClock; ++c) by_cause[c] += other.by_cause[c];
    host_seconds += other.host_seconds;
    joules += other.joules;
    if (bound.empty()) bound = other.bound;
    return *this;
  }
};

struct Run {
  double clock_hz = 0;  // 0: nothing ran on the accelerator
  std::string memory;
  std::vector<Piece> pieces;
  bool knows_energy = false;  // of all that ran on the accelerator

  double seconds(const Piece& piece) const {
    return piece.host_seconds + (clock_hz > 0 ? static_cast<double>(piece.cycles) / clock_hz : 0);
  }
};

std::string name_of(const std::vector<std::string>& nodes) { return fmt::format("{}", fmt::join(nodes, "+")); }

// A layer that was fused from several has the names of all.
std::vector<std::string> nodes_of(const std::string& layer) {
  std::vector<std::string> nodes;
  for (std::size_t begin = 0; begin <= layer.size();) {
    const std::size_t end = std::min(layer.find('+', begin), layer.size());
    nodes.push_back(layer.substr(begin, end - begin));
    begin = end + 1;
  }
  return nodes;
}

Piece piece_of_layer(const Json& layer) {
  const std::string name = layer.at("name").get<std::string>();
  Piece piece{.nodes = name.empty() ? std::vector<std::string>{"(no layer)"} : nodes_of(name)};
  piece.cycles = layer.at("cycles").get<std::uint64_t>();
  piece.bytes_read = layer.at("bytes_read").get<std::uint64_t>();
  piece.bytes_written = layer.at("bytes_written").get<std::uint64_t>();
  piece.joules = layer.value("joules", 0.0);
  for (std::size_t c = 0; c < kClock; ++c)
    piece.by_cause[c] = layer.at("cycles_by_cause").at(std::string(kTimeCauses[c])).get<std::uint64_t>();
  const Json& bounds = layer.at("bounds");
  if (piece.cycles > 0 && bounds.contains("tightest")) piece.bound = bounds.at("tightest").get<std::string>();
  return piece;
}

// The timing of a step on the accelerator, else null. A trace has its programs apart from the steps.
const Json* timing_of(const Json& profile, const Json& step) {
  if (step.contains("timing")) return &step.at("timing");
  if (profile.contains("programs"))
    for (const Json& program : profile.at("programs"))
      if (program.at("name") == step.at("name")) return &program.at("timing");
  return nullptr;
}

Run run_of(const Json& profile) {
  Run run;
  bool all_known = true;
  for (const Json& step : profile.at("steps")) {
    if (const Json* timing = timing_of(profile, step); timing != nullptr) {
      run.clock_hz = timing->at("clock_mhz").get<double>() * 1e6;
      run.memory = timing->at("memory").get<std::string>();
      run.knows_energy = true;
      for (const Json& layer : timing->at("layers")) {
        run.pieces.push_back(piece_of_layer(layer));
        all_known = all_known && layer.contains("joules");
      }
      continue;
    }
    Piece piece{.host_seconds = step.at("seconds").get<double>()};
    if (step.contains("origins")) piece.nodes = step.at("origins").get<std::vector<std::string>>();
    if (piece.nodes.empty()) piece.nodes.push_back(step.at("name").get<std::string>());
    run.pieces.push_back(std::move(piece));
  }
  run.knows_energy = run.knows_energy && all_known;
  return run;
}

// Why numbers of the profile cannot be right; empty: they may be.
std::string problem_of(const Run& run) {
  if (!std::isfinite(run.clock_hz) || run.clock_hz < 0) return "a clock is not a positive number";
  for (const Piece& piece : run.pieces) {
    const std::string name = name_of(piece.nodes);
    if (!(piece.host_seconds >= 0) || !std::isfinite(piece.host_seconds) || !std::isfinite(piece.joules))
      return fmt::format("the time or energy of {} is not a positive number", name);
    std::uint64_t cycles = 0;
    for (const std::uint64_t part : piece.by_cause) cycles += part;
    if (cycles != piece.cycles)
      return fmt::format("the causes of {} have {} cycles, and the layer {}", name, cycles, piece.cycles);
    if (piece.cycles > 0 && run.clock_hz <= 0) return "a clock is not a positive number";
  }
  return {};
}

Result<Run> read_run(const ExplainedRun& run) {
  constexpr std::string_view kHint = "write one with `dovetail profile MODEL.onnx --json > a.json` of this version";
  try {
    const std::string kind = run.profile.is_object() ? run.profile.value("kind", "") : "";
    if (kind != "profile" && kind != "session-trace")
      return Diagnostic{"cannot explain", run.name, "this is not the JSON of a profile", std::string(kHint)};
    const Json& latency = run.profile.at("latency");
    if (latency.at("regions").get<std::size_t>() > 0 && latency.at("cycles").is_null())
      return Diagnostic{"cannot explain", run.name, "the profile is of an engine without a clock",
                        "profile with --engine cycle, systemc or rtl"};
    const Json system = run.profile.value("system", Json::object());
    if (system.value("accelerators", 1) > 1)
      return Diagnostic{"cannot explain", run.name, "several accelerators share the memory, and a layer is of one",
                        "profile one accelerator; `dovetail compare --accelerators N` compares throughput"};
    Run read = run_of(run.profile);
    if (const std::string problem = problem_of(read); !problem.empty())
      return Diagnostic{"cannot explain", run.name, problem, std::string(kHint)};
    if (run.profile.contains("file") && !run.profile.at("file").is_string())
      return Diagnostic{"cannot explain", run.name, "\"file\" is not a text", std::string(kHint)};
    return read;
  } catch (const Json::exception& error) {
    return Diagnostic{"cannot explain", run.name,
                      fmt::format("the profile is incomplete: {}", json_problem(error.what())), std::string(kHint)};
  }
}

// The nodes that are in one layer or step of either run, directly or through others, belong together.
class Groups {
 public:
  void join(const std::vector<std::string>& nodes) {
    for (const std::string& node : nodes) parent_[find(node)] = find(nodes.front());
  }
  std::string find(const std::string& node) {
    std::string root = node;
    for (auto at = parent_.find(root); at != parent_.end() && at->second != root; at = parent_.find(root))
      root = at->second;
    parent_[node] = root;
    return root;
  }

 private:
  std::map<std::string, std::string> parent_;
};

// The same work in both runs. A run without it has an empty piece.
struct Row {
  std::array<Piece, 2> sides;
  std::array<bool, 2> present{};
  std::array<double, kCauses> difference{};  // seconds, by cause
  double seconds() const { return std::accumulate(difference.begin(), difference.end(), 0.0); }
};

std::vector<Row> rows_of(const std::array<Run, 2>& runs) {
  Groups groups;
  for (const Run& run : runs)
    for (const Piece& piece : run.pieces) groups.join(piece.nodes);
  std::map<std::string, std::size_t> known;
  std::vector<Row> rows;
  for (std::size_t side = 0; side < 2; ++side)
    for (const Piece& piece : runs[side].pieces) {
      const auto [at, is_new] = known.try_emplace(groups.find(piece.nodes.front()), rows.size());
      if (is_new) rows.emplace_back();
      Row& row = rows[at->second];
      row.present[side] = true;
      row.sides[side] += piece;
      for (const std::string& node : piece.nodes)
        if (auto& nodes = row.sides[side].nodes; std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    }
  // Cycles that differ take the second run's clock, all others the difference of the clocks.
  const double a_hz = runs[0].clock_hz > 0 ? runs[0].clock_hz : runs[1].clock_hz;
  const double b_hz = runs[1].clock_hz > 0 ? runs[1].clock_hz : a_hz;
  for (Row& row : rows) {
    const Piece &a = row.sides[0], &b = row.sides[1];
    row.difference[kHost] = b.host_seconds - a.host_seconds;
    if (b_hz <= 0) continue;
    for (std::size_t c = 0; c < kClock; ++c)
      row.difference[c] = (static_cast<double>(b.by_cause[c]) - static_cast<double>(a.by_cause[c])) / b_hz;
    row.difference[kClock] = static_cast<double>(a.cycles) * (1 / b_hz - 1 / a_hz);
  }
  std::ranges::stable_sort(rows, std::greater{}, [](const Row& row) { return std::abs(row.seconds()); });
  return rows;
}

Json by_cause_json(const std::array<double, kCauses>& seconds) {
  Json json = Json::object();
  for (std::size_t c = 0; c < kCauses; ++c)
    if (seconds[c] != 0) json[std::string(kTimeCauses[c])] = seconds[c] * 1e3;
  return json;
}

Json side_json(const Piece& piece, const Run& run) {
  Json cycles = Json::object();
  for (std::size_t c = 0; c < kClock; ++c)
    if (piece.by_cause[c] != 0) cycles[std::string(kTimeCauses[c])] = piece.by_cause[c];
  return {{"ms", run.seconds(piece) * 1e3},
          {"cycles", piece.cycles},
          {"cycles_by_cause", std::move(cycles)},
          {"host_ms", piece.host_seconds * 1e3},
          {"bytes_read", piece.bytes_read},
          {"bytes_written", piece.bytes_written},
          {"joules", run.knows_energy ? Json(piece.joules) : Json()}};
}

Json difference_json(const std::array<Piece, 2>& sides, const std::array<Run, 2>& runs,
                     const std::array<double, kCauses>& seconds) {
  const auto signed_difference = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(b) - static_cast<std::int64_t>(a);
  };
  const Piece &a = sides[0], &b = sides[1];
  const bool knows_energy = runs[0].knows_energy && runs[1].knows_energy;
  return {{"ms", std::accumulate(seconds.begin(), seconds.end(), 0.0) * 1e3},
          {"ms_by_cause", by_cause_json(seconds)},
          {"cycles", signed_difference(a.cycles, b.cycles)},
          {"bytes_read", signed_difference(a.bytes_read, b.bytes_read)},
          {"bytes_written", signed_difference(a.bytes_written, b.bytes_written)},
          {"joules", knows_energy ? Json(b.joules - a.joules) : Json()}};
}

}  // namespace

Result<Json> explain(const ExplainedRun& a, const ExplainedRun& b) {
  std::array<Run, 2> runs;
  DOVETAIL_ASSIGN(runs[0], read_run(a));
  DOVETAIL_ASSIGN(runs[1], read_run(b));
  const std::vector<Row> rows = rows_of(runs);
  std::array<Piece, 2> whole;
  std::array<double, kCauses> whole_difference{};
  Json layers = Json::array();
  for (const Row& row : rows) {
    Json json{{"name", name_of(row.sides[row.present[0] ? 0 : 1].nodes)}};
    for (std::size_t side = 0; side < 2; ++side) {
      whole[side] += row.sides[side];
      Json& of_side = json[side == 0 ? "a" : "b"];  // null: nothing of that run
      if (!row.present[side]) continue;
      of_side = side_json(row.sides[side], runs[side]);
      of_side["bound"] = row.sides[side].bound;
    }
    for (std::size_t c = 0; c < kCauses; ++c) whole_difference[c] += row.difference[c];
    json["difference"] = difference_json(row.sides, runs, row.difference);
    layers.push_back(std::move(json));
  }
  Json json{{"kind", "explanation"}};
  const std::array<const ExplainedRun*, 2> given{&a, &b};
  for (std::size_t side = 0; side < 2; ++side) {
    Json& of_side = json[side == 0 ? "a" : "b"];
    of_side = {{"name", given[side]->name},
               {"file", given[side]->profile.value("file", "")},
               {"clock_mhz", runs[side].clock_hz > 0 ? Json(runs[side].clock_hz * 1e-6) : Json()},
               {"memory", runs[side].memory}};
    of_side.update(side_json(whole[side], runs[side]));
  }
  json["difference"] = difference_json(whole, runs, whole_difference);
  json["layers"] = std::move(layers);
  return json;
}

}  // namespace dovetail::driver
