#include "simulator/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

namespace {

constexpr std::array kUnits{isa::Queue::load, isa::Queue::compute, isa::Queue::store};

// Raised within trace_from_json only, where nlohmann/json raises its own.
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

}  // namespace

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
    launches.push_back({{"cycles", launch.cycles}, {"classes", classes}, {"events", events}});
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
          launch.classes[isa::index(unit)][c] =
              from.at("classes").at(std::string(isa::name(unit))).at(std::string(kUnitClassNames[c])).get<std::uint64_t>();
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
      trace.launches.push_back(std::move(launch));
    }
    return trace;
  } catch (const Malformed& error) {
    return Diagnostic{"cannot read the trace", fmt::format("{}, {}", where, place), error.why, "write it anew with --trace"};
  } catch (const Json::exception& error) {
    return Diagnostic{"cannot read the trace", fmt::format("{}, {}", where, place), error.what(), "write it anew with --trace"};
  }
}

}  // namespace dovetail::simulator
