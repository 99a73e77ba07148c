#include "simulator/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/json_problem.h"
#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

namespace {

// Thrown within trace_from_json only, in addition to nlohmann/json's own exceptions.
struct Malformed {
  std::string why;
};

isa::Queue unit_of(const std::string& name) {
  for (const isa::Queue unit : kUnits)
    if (isa::name(unit) == name) return unit;
  throw Malformed{fmt::format("there is no unit \"{}\"", name)};
}

StallCause cause_of(const std::string& name) {
  const auto* found = std::find(kStallCauseNames.begin(), kStallCauseNames.end(), name);
  if (found == kStallCauseNames.end()) throw Malformed{fmt::format("there is no stall cause \"{}\"", name)};
  return static_cast<StallCause>(found - kStallCauseNames.begin());
}

MemorySplit split_of(const Json& json) {
  MemorySplit split;
  for (std::size_t c = 0; c < split.cycles.size(); ++c)
    split.cycles[c] = json.at(std::string(kMemoryCauseNames[c])).get<std::uint64_t>();
  return split;
}

Json waits_json(const MemoryWaits& waits) {
  Json json{{"fetch", to_json(waits.fetch)}}, instructions = Json::array();
  for (const isa::Queue unit : kUnits) json[std::string(isa::name(unit))] = to_json(waits.units[isa::index(unit)]);
  for (std::size_t i = 0; i < waits.instructions.size(); ++i) {
    if (waits.instructions[i] == MemorySplit{}) continue;
    Json row = Json::array({i});
    for (const std::uint64_t cycles : waits.instructions[i].cycles) row.push_back(cycles);
    instructions.push_back(std::move(row));
  }
  json["instructions"] = std::move(instructions);
  json["traffic"] = {{"window", std::uint64_t{1} << waits.traffic.window_log2},
                     {"read", waits.traffic.read},
                     {"written", waits.traffic.written}};
  return json;
}

// A window is a power of two.
int window_log2_of(std::uint64_t window) {
  if (!std::has_single_bit(window))
    throw Malformed{fmt::format("a window of {} cycles, which is not a power of two", window)};
  return std::countr_zero(window);
}

MemoryWaits waits_of(const Json& json, std::size_t events) {
  MemoryWaits waits;
  for (const isa::Queue unit : kUnits) waits.units[isa::index(unit)] = split_of(json.at(std::string(isa::name(unit))));
  const Json& fetch = json.at("fetch");
  waits.fetch.issue = fetch.at("issue").get<std::uint64_t>();
  waits.fetch.memory = split_of(fetch.at("memory"));
  for (const isa::Queue unit : kUnits)
    waits.fetch.queue_full[isa::index(unit)] =
        fetch.at("queue_full").at(std::string(isa::name(unit))).get<std::uint64_t>();
  waits.fetch.done = fetch.at("done").get<std::uint64_t>();
  waits.instructions.resize(events);
  for (const Json& row : json.at("instructions")) {
    const auto event = row.at(0).get<std::size_t>();
    if (event >= events) throw Malformed{fmt::format("waits of event {}, of {} events", event, events)};
    for (std::size_t c = 0; c < kMemoryCauseNames.size(); ++c)
      waits.instructions[event].cycles[c] = row.at(c + 1).get<std::uint64_t>();
  }
  const Json& traffic = json.at("traffic");
  waits.traffic = {.window_log2 = window_log2_of(traffic.at("window").get<std::uint64_t>()),
                   .read = traffic.at("read").get<std::vector<std::uint64_t>>(),
                   .written = traffic.at("written").get<std::vector<std::uint64_t>>()};
  return waits;
}

}  // namespace

FetchTime& FetchTime::operator+=(const FetchTime& other) {
  issue += other.issue;
  memory += other.memory;
  for (std::size_t i = 0; i < queue_full.size(); ++i) queue_full[i] += other.queue_full[i];
  done += other.done;
  return *this;
}

Json to_json(const MemorySplit& split) {
  Json json;
  for (std::size_t c = 0; c < split.cycles.size(); ++c) json[std::string(kMemoryCauseNames[c])] = split.cycles[c];
  return json;
}

Json to_json(const FetchTime& time) {
  Json full;
  for (const isa::Queue unit : kUnits) full[std::string(isa::name(unit))] = time.queue_full[isa::index(unit)];
  return {{"issue", time.issue}, {"memory", to_json(time.memory)}, {"queue_full", full}, {"done", time.done}};
}

Json to_json(const Trace& trace) {
  Json launches = Json::array();
  for (const LaunchTrace& launch : trace.launches) {
    Json events = Json::array(), classes;
    for (const TraceEvent& event : launch.events)
      events.push_back({event.instruction, isa::name(event.unit), event.issue, event.start, event.end,
                        kStallCauseNames[static_cast<std::size_t>(event.cause)], event.source});
    for (const isa::Queue unit : kUnits)
      for (std::size_t c = 0; c < kUnitClassNames.size(); ++c)
        classes[std::string(isa::name(unit))][std::string(kUnitClassNames[c])] = launch.classes[isa::index(unit)][c];
    Json row{{"cycles", launch.cycles}, {"classes", classes}, {"events", events}};
    if (launch.waits) row["waits"] = waits_json(*launch.waits);
    if (launch.counters) row["counters"] = to_json(*launch.counters);
    launches.push_back(std::move(row));
  }
  return {{"kind", "trace"}, {"sources", trace.sources}, {"launches", launches}};
}

Result<Trace> trace_from_json(const Json& json, std::string_view where) {
  std::string place = "top level";
  try {
    if (json.at("kind") != "trace") throw Malformed{"\"kind\" is not \"trace\""};
    Trace trace;
    trace.sources = json.at("sources").get<std::vector<std::string>>();
    for (std::size_t l = 0; l < json.at("launches").size(); ++l) {
      place = fmt::format("launch {}", l);
      const Json& from = json.at("launches").at(l);
      LaunchTrace launch;
      launch.cycles = from.at("cycles").get<std::uint64_t>();
      for (const isa::Queue unit : kUnits)
        for (std::size_t c = 0; c < kUnitClassNames.size(); ++c)
          launch.classes[isa::index(unit)][c] = from.at("classes")
                                                    .at(std::string(isa::name(unit)))
                                                    .at(std::string(kUnitClassNames[c]))
                                                    .get<std::uint64_t>();
      for (std::size_t e = 0; e < from.at("events").size(); ++e) {
        place = fmt::format("launch {}, event {}", l, e);
        const Json& event = from.at("events").at(e);
        launch.events.push_back({.instruction = event.at(0).get<std::uint64_t>(),
                                 .unit = unit_of(event.at(1).get<std::string>()),
                                 .issue = event.at(2).get<std::uint64_t>(),
                                 .start = event.at(3).get<std::uint64_t>(),
                                 .end = event.at(4).get<std::uint64_t>(),
                                 .cause = cause_of(event.at(5).get<std::string>()),
                                 .source = event.at(6).get<std::uint32_t>()});
        if (launch.events.back().source >= trace.sources.size())
          throw Malformed{fmt::format("source {} of {} sources", launch.events.back().source, trace.sources.size())};
      }
      place = fmt::format("launch {}, waits", l);
      if (from.contains("waits")) launch.waits = waits_of(from.at("waits"), launch.events.size());
      place = fmt::format("launch {}, counters", l);
      if (from.contains("counters")) launch.counters = counters_from_json(from.at("counters"));
      trace.launches.push_back(std::move(launch));
    }
    return trace;
  } catch (const Malformed& error) {
    return Diagnostic{"cannot read the trace", fmt::format("{}, {}", where, place), error.why,
                      "write the trace again with --trace"};
  } catch (const Json::exception& error) {
    return Diagnostic{"cannot read the trace", fmt::format("{}, {}", where, place), json_problem(error.what()),
                      "write the trace again with --trace"};
  }
}

}  // namespace dovetail::simulator
