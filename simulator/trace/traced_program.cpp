#include "simulator/trace/traced_program.h"

#include <fmt/format.h>

#include "base/json_problem.h"
#include "isa/accelerators.h"
#include "simulator/trace/base64.h"

namespace dovetail::simulator {

namespace {

// The instructions of each accelerator, in order, where accelerators differ.
std::vector<isa::Launch> parts_of(const TracedProgram& program) {
  std::vector<isa::Launch> parts;
  for (std::size_t i = 0; i < program.accelerators.size(); ++i) {
    if (parts.empty() || parts.back().accelerator != program.accelerators[i])
      parts.push_back({.begin = i, .accelerator = program.accelerators[i]});
    ++parts.back().count;
  }
  return parts;
}

}  // namespace

Result<Json> to_json(const std::vector<TracedProgram>& programs) {
  Json list = Json::array();
  for (const TracedProgram& program : programs) {
    const std::vector<isa::Launch> parts = parts_of(program);
    DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, isa::encode_program(program.configs(), program.program, parts));
    Json launches = Json::array();
    for (const isa::Launch& launch : program.launches) launches.push_back({launch.begin, launch.count});
    list.push_back({{"name", program.name},
                    {"hardware", isa::config_to_json(program.config)},
                    {"instructions", to_base64(bytes)},
                    {"launches", launches},
                    {"what_if", to_json(program.what_if)},
                    {"useful_macs", program.useful_macs}});
    for (const isa::HardwareConfig& other : program.others) list.back()["others"].push_back(isa::config_to_json(other));
    for (const isa::Launch& part : parts)
      list.back()["accelerators"].push_back({part.begin, part.count, part.accelerator});
  }
  return list;
}

Result<std::vector<TracedProgram>> traced_programs_from_json(const Json& json, const Trace& trace,
                                                             std::string_view where) {
  std::string place = "programs";
  const auto bad = [&](std::string why) {
    return Diagnostic{"cannot read the programs of the trace", fmt::format("{}, {}", where, place), std::move(why),
                      "write the trace again with --trace"};
  };
  std::vector<TracedProgram> programs;
  std::size_t launch = 0;
  try {
    for (std::size_t p = 0; p < json.size(); ++p) {
      place = fmt::format("program {}", p);
      const Json& from = json.at(p);
      TracedProgram program{
          .name = from.at("name").get<std::string>(), .config = {}, .program = {}, .launches = {}, .what_if = {}};
      DOVETAIL_ASSIGN(program.config, isa::config_from_json(from.at("hardware"), fmt::format("{}, {}", where, place)));
      const auto bytes = from_base64(from.at("instructions").get<std::string>());
      if (!bytes) return bad("the instructions are not valid base64");
      std::vector<isa::Launch> parts;
      for (const Json& other : from.value("others", Json::array())) {
        DOVETAIL_ASSIGN(isa::HardwareConfig own, isa::config_from_json(other, fmt::format("{}, {}", where, place)));
        program.others.push_back(std::move(own));
      }
      const isa::AcceleratorConfigs configs = program.configs();
      if (const auto common = isa::check_common(configs); !common.ok()) return bad(common.errors().front().why);
      for (const Json& part : from.value("accelerators", Json::array())) {
        parts.push_back({part.at(0).get<std::size_t>(), part.at(1).get<std::size_t>(), part.at(2).get<std::size_t>()});
        if (!configs.has(parts.back().accelerator))
          return bad(fmt::format("accelerator {} of {}", parts.back().accelerator, configs.size()));
      }
      DOVETAIL_ASSIGN(program.program,
                      isa::decode_program(configs, *bytes, parts, fmt::format("{}, {}", where, place)));
      if (!configs.same()) program.accelerators = isa::accelerators_of(program.program.size(), parts);
      for (const Json& answer : from.at("what_if"))
        program.what_if.push_back({answer.at("change").get<std::string>(), answer.at("cycles").get<std::uint64_t>()});
      program.useful_macs = from.at("useful_macs").get<std::map<std::string, std::uint64_t>>();
      for (const Json& range : from.at("launches")) {
        const isa::Launch at{.begin = range.at(0).get<std::size_t>(), .count = range.at(1).get<std::size_t>()};
        if (at.begin > program.program.size() || at.count > program.program.size() - at.begin)
          return bad(fmt::format("launch {}:{} of {} instructions", at.begin, at.count, program.program.size()));
        if (launch == trace.launches.size())
          return bad(fmt::format("there are more launches than the trace's {}", trace.launches.size()));
        const std::vector<TraceEvent>& events = trace.launches[launch].events;
        if (events.size() != at.count)
          return bad(fmt::format("launch {} has {} events, for {} instructions", launch, events.size(), at.count));
        for (std::size_t i = 0; i < events.size(); ++i)
          if (events[i].instruction != at.begin + i)
            return bad(fmt::format("event {} of launch {} is of instruction {}, not {}", i, launch,
                                   events[i].instruction, at.begin + i));
        program.launches.push_back(at);
        ++launch;
      }
      programs.push_back(std::move(program));
    }
  } catch (const Json::exception& error) {
    return bad(json_problem(error.what()));
  }
  place = "programs";
  if (launch != trace.launches.size())
    return bad(fmt::format("the programs have {} launches, but the trace has {}", launch, trace.launches.size()));
  return programs;
}

}  // namespace dovetail::simulator
