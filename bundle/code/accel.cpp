#include "bundle/code/accel.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "bundle/checked_json.h"
#include "bundle/code/program_summary.h"
#include "bundle/code/text.h"
#include "isa/system.h"

namespace dovetail::bundle {

void encode(const AccelCode& code, Step& step) {
  auto program = isa::encode_program(code.configs(), code.program, code.launches);
  DOVETAIL_CHECK(program.ok(), "the program must fit its configuration: " + to_string(program.errors()));
  step.target = kAccelTarget;
  step.data.clear();
  std::optional<std::size_t> program_index;
  Json segments = Json::array(), launches = Json::array(), ranges = Json::array();
  for (const Segment& segment : code.segments) {
    if (std::ranges::equal(segment.bytes.bytes(), *program)) program_index = step.data.size();
    segments.push_back({{"name", segment.name}, {"address", segment.address}, {"data", step.data.size()}});
    step.data.push_back(segment.bytes);
  }
  if (!program_index) {
    program_index = step.data.size();
    step.data.emplace_back(*std::move(program));
  }
  for (const isa::Launch& launch : code.launches) {
    launches.push_back({{"begin", launch.begin}, {"count", launch.count}});
    if (launch.accelerator > 0) launches.back()["accelerator"] = launch.accelerator;
    if (launch.together) launches.back()["together"] = true;
  }
  for (const InstructionRange& range : code.ranges) {
    ranges.push_back({{"begin", range.begin}, {"end", range.end}, {"name", range.name}, {"origins", range.origins}});
    if (range.macs) ranges.back()["macs"] = *range.macs;
    if (const auto& part = range.part)
      ranges.back()["part"] = {{"by", part->by}, {"begin", part->begin}, {"end", part->end}, {"pieces", part->pieces}};
  }
  Json json{{"config", isa::config_to_json(code.config)},
            {"space", code.space},
            {"segments", segments},
            {"program_base", code.program_base},
            {"program", *program_index},
            {"launches", launches},
            {"arguments", code.argument_addresses},
            {"results", code.result_addresses},
            {"ranges", ranges},
            {"uops", code.uops}};
  for (const isa::HardwareConfig& other : code.others) json["others"].push_back(isa::config_to_json(other));
  if (code.offset) json["offset"] = {{"bytes", code.offset->bytes}, {"most", code.offset->most}};
  step.code = json_bytes(json);
}

Result<AccelCode> decode_accel(const Step& step) {
  const std::string place = code_place(step);
  DOVETAIL_ASSIGN(const Json json, parse_json(code_text(step), place));
  Diagnostics errors;
  const CheckedJson head(json, {place, "head"}, errors);
  const auto piece = [&](const CheckedJson& index) {
    if (step.data.empty()) index.fail("the step has no data");
    const std::uint64_t i = step.data.empty() ? 0 : index.natural(step.data.size() - 1);
    return errors.empty() ? step.data[i] : Blob();
  };
  AccelCode code;
  const CheckedJson config = head.at("config");
  if (!errors.empty()) return errors;
  DOVETAIL_ASSIGN(code.config, isa::config_from_json(config.json(), place + ", config"));
  if (const auto others = head.find("others"))
    for (const CheckedJson& other : others->items()) {
      DOVETAIL_ASSIGN(isa::HardwareConfig own, isa::config_from_json(other.json(), place + ", others"));
      code.others.push_back(std::move(own));
    }
  if (!errors.empty()) return errors;
  if (code.others.size() >= static_cast<std::size_t>(isa::kMostAccelerators))
    head.fail(fmt::format("there are {} accelerators, more than {}", code.others.size() + 1, isa::kMostAccelerators));
  const isa::AcceleratorConfigs configs = code.configs();
  if (const auto common = isa::check_common(configs); !common.ok()) head.fail(common.errors().front().why);
  code.space = static_cast<SpaceIndex>(head.at("space").integer(0, std::numeric_limits<SpaceIndex>::max()));
  for (const CheckedJson& segment : head.at("segments").items())
    code.segments.push_back({segment.at("name").text(), segment.at("address").natural(), piece(segment.at("data"))});
  code.program_base = head.at("program_base").natural();
  for (const CheckedJson& launch : head.at("launches").items()) {
    const auto accelerator = launch.find("accelerator");
    const auto together = launch.find("together");
    code.launches.push_back({launch.at("begin").natural(), launch.at("count").natural(),
                             accelerator ? accelerator->natural(isa::kMostAccelerators - 1) : 0,
                             together && together->flag()});
    if (errors.empty() && !configs.has(code.launches.back().accelerator))
      launch.fail(fmt::format("it runs on accelerator {}, and the program is for {}, numbered from 0",
                              code.launches.back().accelerator, configs.size()));
  }
  code.argument_addresses = head.at("arguments").naturals();
  code.result_addresses = head.at("results").naturals();
  for (const CheckedJson& range : head.at("ranges").items()) {
    code.ranges.push_back(
        {range.at("begin").natural(), range.at("end").natural(), range.at("name").text(), range.at("origins").texts()});
    if (const auto macs = range.find("macs")) code.ranges.back().macs = macs->natural();
    if (const auto part = range.find("part")) {
      const auto number = [&](const char* key) {
        return part->at(key).integer(0, std::numeric_limits<std::int64_t>::max());
      };
      code.ranges.back().part = {part->at("by").text(), number("begin"), number("end"), number("pieces")};
    }
  }
  code.uops = head.at("uops").natural();
  if (const auto offset = head.find("offset"))
    code.offset = {offset->at("bytes").natural(),
                   offset->at("most").integer(0, std::numeric_limits<std::int64_t>::max())};
  const Blob program = piece(head.at("program"));
  if (!errors.empty()) return errors;
  DOVETAIL_ASSIGN(code.program, isa::decode_program(configs, program.bytes(), code.launches, place + ", program"));
  return code;
}

Result<std::vector<CodedStep<AccelCode>>> accel_steps(const Bundle& bundle) {
  DOVETAIL_ASSIGN(auto steps,
                  decode_steps(bundle, kAccelTarget, decode_accel, [&](const Step& step, const AccelCode& code) {
                    return verify_accel(bundle, step, code);
                  }));
  Diagnostics problems;
  for (std::string& why : verify_shared_memory(bundle, steps))
    problems.push_back(
        {"invalid bundle", "accelerator memory", std::move(why), "make the bundle again with `dovetail compile`"});
  if (!problems.empty()) return problems;
  return steps;
}

std::vector<std::byte> initial_image(const MemorySpace& memory, const AccelCode& code) {
  std::vector<std::byte> image(memory.bytes);
  for (const Segment& segment : code.segments)
    std::ranges::copy(segment.bytes.bytes(),
                      image.begin() + static_cast<std::ptrdiff_t>(segment.address - memory.base));
  return image;
}

constinit const TargetFacts kAccelFacts{.name = kAccelTarget,
                                        .device = TargetDevice::accelerator,
                                        .has_clock = true,
                                        .takes_leftovers = false,
                                        .floats_only = false,
                                        .rounds_freely = never,
                                        .operations = nullptr,
                                        .describe = [](const Bundle& bundle, const Step& step) -> StepDescription {
                                          const AccelCode code = decode_accel(step).value();
                                          const std::uint64_t bytes =
                                              bundle.spaces[static_cast<std::size_t>(code.space)].bytes;
                                          Json json{{"origins", step.origins},
                                                    {"hardware", isa::config_to_json(code.config)},
                                                    {"dram_bytes", bytes},
                                                    {"program", to_json(summarize(code))}};
                                          for (const isa::HardwareConfig& other : code.others)
                                            json["others"].push_back(isa::config_to_json(other));
                                          return {.json = std::move(json),
                                                  .instructions = code.program.size(),
                                                  .memory_bytes = bytes,
                                                  .hardware = code.configs()};
                                        }};

}  // namespace dovetail::bundle
