#include "simulator/trace/perfetto.h"

#include <algorithm>
#include <map>

#include "simulator/cycle/cycle.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"

namespace dovetail::simulator {

TEST_CASE("a Perfetto file is a trace, with slices that do not overlap, an arrow per token, and queues that empty") {
  const test::GeneratedProgram program = test::generate(isa::HardwareConfig{}, {.seed = 11, .size = 120});
  const auto simulator = make_cycle_timing(program.config, {.trace = true});
  Dram dram{program.dram_base, program.dram};
  Trace trace;
  trace.sources = {"", "layer \"one\""};
  std::vector<std::span<const isa::Instruction>> programs;
  std::size_t tokens = 0;
  for (const isa::Launch& launch : program.launches) {
    programs.push_back(std::span(program.program).subspan(launch.begin, launch.count));
    tokens += simulator->launch(programs.back(), dram, launch.begin).value().tokens;
    trace.launches.push_back(*simulator->timing());
    trace.launches.back().events.front().source = 1;
  }
  const Json json = parse_json(perfetto_text(trace, programs, {{"title", "a \"title\""}}), "trace").value();
  CHECK(json["title"] == "a \"title\"");
  CHECK(trace_from_json(json, "trace").value() == trace);

  std::size_t slices = 0, arrows = 0, heads = 0;
  std::map<int, std::uint64_t> free;
  std::map<std::string, std::int64_t> held;
  std::map<std::string, double> rates;  // the highest
  for (const Json& event : json["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "X") {
      ++slices;
      // By node, if it is known, and operation; the details have the whole instruction.
      const std::string what = event["args"]["what"], name = event["name"];
      const bool has_node =
          std::any_of(program.launches.begin(), program.launches.end(),
                      [&](const isa::Launch& launch) { return event["args"]["instruction"] == launch.begin; });
      CHECK(name == (has_node ? "layer \"one\" " + what.substr(0, what.find(' ')) : what));
      const int unit = event["tid"];
      CHECK(event["ts"].get<std::uint64_t>() >= free[unit]);
      free[unit] = event["ts"].get<std::uint64_t>() + event["dur"].get<std::uint64_t>();
      CHECK(event["dur"].get<std::uint64_t>() > 0);
    }
    arrows += phase == "s";
    heads += phase == "f";
    if (phase == "C" && event["args"].contains("waiting")) held[event["name"]] = event["args"]["waiting"];
    if (phase == "C" && event["args"].contains("a cycle")) {
      const double beats = event["args"]["a cycle"];
      CHECK(beats >= 0);
      CHECK(beats <= 1);
      rates[event["name"]] = std::max(rates[event["name"]], beats);
    }
  }
  CHECK(slices == program.program.size());
  CHECK(arrows == tokens);
  CHECK(heads == tokens);
  CHECK(held.size() >= 5);
  for (const auto& [name, count] : held) CHECK(count == 0);
  CHECK(rates.size() == 2);
  CHECK(rates["port: beats read"] > 0);
  CHECK(rates["port: beats written"] > 0);
}

}  // namespace dovetail::simulator
