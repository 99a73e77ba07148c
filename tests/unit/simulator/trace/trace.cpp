// Traces survive being written and read; an invalid trace is refused with its place.
#include "simulator/trace/trace.h"

#include "tests/catch.h"

namespace dovetail::simulator {

namespace {

Trace sample() {
  LaunchTrace launch;
  launch.cycles = 40;
  launch.events = {{.instruction = 3,
                    .unit = isa::Queue::load,
                    .issue = 5,
                    .start = 6,
                    .end = 30,
                    .cause = StallCause::fetch,
                    .source = 1},
                   {.instruction = 4,
                    .unit = isa::Queue::store,
                    .issue = 6,
                    .start = 31,
                    .end = 39,
                    .cause = StallCause::token_prev}};
  launch.classes[0][static_cast<std::size_t>(UnitClass::memory)] = 40;
  return {.launches = {launch, {}}, .sources = {"", "conv1"}};
}

}  // namespace

TEST_CASE("a trace survives JSON") {
  const Trace trace = sample();
  CHECK(trace_from_json(to_json(trace), "t.json").value() == trace);
}

TEST_CASE("a damaged trace is refused with its place") {
  const auto error = [](const Json& json) { return to_string(trace_from_json(json, "t.json").errors()); };
  using Catch::Matchers::ContainsSubstring;
  Json json = to_json(sample());
  json["launches"][0]["events"][1][1] = "unload";
  CHECK_THAT(error(json),
             ContainsSubstring("t.json, launch 0, event 1") && ContainsSubstring("there is no unit \"unload\""));
  json = to_json(sample());
  json["launches"][0]["events"][0][6] = 2;
  CHECK_THAT(error(json), ContainsSubstring("source 2 of 2 sources"));
  json = to_json(sample());
  json["launches"][1].erase("cycles");
  CHECK_THAT(error(json), ContainsSubstring("launch 1"));
  CHECK_THAT(error(Json{{"kind", "report"}}), ContainsSubstring("not \"trace\""));
}

}  // namespace dovetail::simulator
