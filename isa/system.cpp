#include "isa/system.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "isa/nearest.h"

namespace dovetail::isa {

namespace {

constexpr std::array<std::string_view, 5> kSystemKeys{"clock_mhz", "memory", "memory_clock_mhz", "accelerators",
                                                      "split"};
constexpr std::array<std::string_view, 3> kSplitNames{"samples", "layers", "stages"};

// An integer is written without a decimal point.
Json number(double value) {
  if (value == std::floor(value)) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

std::string_view name(Split split) { return kSplitNames[static_cast<std::size_t>(split)]; }

std::optional<Split> split_named(std::string_view name) {
  const auto found = std::ranges::find(kSplitNames, name);
  if (found == kSplitNames.end()) return std::nullopt;
  return static_cast<Split>(found - kSplitNames.begin());
}

Json system_to_json(const SystemConfig& system) {
  Json json{{"clock_mhz", number(system.clock_mhz)}, {"memory", system.memory}};
  if (system.memory_clock_mhz) json["memory_clock_mhz"] = number(*system.memory_clock_mhz);
  if (system.accelerators != 1) json["accelerators"] = system.accelerators;
  if (system.split != Split::samples) json["split"] = name(system.split);
  return json;
}

Json machine_to_json(const Machine& machine) {
  Json json = config_to_json(machine.hardware);
  json["system"] = system_to_json(machine.system);
  return json;
}

Result<SystemConfig> system_from_json(const Json& json, std::string_view where) {
  const auto bad = [&](std::string_view key, std::string why, std::string hint) {
    return Diagnostic{"cannot read the system of the hardware configuration",
                      key.empty() ? std::string(where) : fmt::format("{}, \"{}\"", where, key), std::move(why),
                      std::move(hint)};
  };
  if (!json.is_object())
    return bad("", fmt::format("expected a JSON object, found a JSON {}", json.type_name()),
               R"(write {"clock_mhz": 350, "memory": "bank:ddr4-2400"})");
  SystemConfig system;
  Diagnostics errors;
  const auto read_clock = [&](const std::string& key, const Json& value, auto& clock) {
    if (!value.is_number())
      errors.push_back(bad(key, fmt::format("{} is not a number", value.dump()), "write MHz without quotes"));
    else if (const auto mhz = value.get<double>(); !(mhz >= kLeastClockMhz && mhz <= kMostClockMhz))
      errors.push_back(bad(key, fmt::format("{} MHz is not from {} to {}", value.dump(), kLeastClockMhz, kMostClockMhz),
                           fmt::format("choose {} from {} to {}", key, kLeastClockMhz, kMostClockMhz)));
    else clock = mhz;
  };
  for (const auto& [key, value] : json.items()) {
    if (key == "clock_mhz") {
      read_clock(key, value, system.clock_mhz);
    } else if (key == "memory_clock_mhz") {
      read_clock(key, value, system.memory_clock_mhz);
    } else if (key == "memory") {
      if (value.is_string() && !value.get_ref<const std::string&>().empty()) system.memory = value.get<std::string>();
      else
        errors.push_back(
            bad(key, fmt::format("{} is not a memory model", value.dump()), R"(write "ideal" or "bank:ddr4-2400")"));
    } else if (key == "accelerators") {
      if (value.is_number_integer() && value >= 1 && value <= kMostAccelerators)
        system.accelerators = value.get<std::int64_t>();
      else
        errors.push_back(bad(key, fmt::format("{} is not an integer from 1 to {}", value.dump(), kMostAccelerators),
                             "write how many accelerators share the memory"));
    } else if (key == "split") {
      const auto split = value.is_string() ? split_named(value.get_ref<const std::string&>()) : std::nullopt;
      if (split) system.split = *split;
      else
        errors.push_back(bad(key, fmt::format("{} is not what accelerators can divide", value.dump()),
                             R"(write "samples", "layers" or "stages")"));
    } else {
      errors.push_back(bad(key, "the system has no key of this name", suggestion(key, kSystemKeys)));
    }
  }
  if (!errors.empty()) return errors;
  return system;
}

std::string memory_from(std::string_view memory, const std::filesystem::path& folder) {
  constexpr std::string_view kBank = "bank:";
  const std::string_view path = memory.substr(0, memory.find(',')).substr(std::min(kBank.size(), memory.size()));
  const bool is_file = path.ends_with(".json") || path.find('/') != std::string_view::npos;
  if (!memory.starts_with(kBank) || !is_file || folder.empty() || std::filesystem::path(path).is_absolute())
    return std::string(memory);
  return fmt::format("{}{}{}", kBank, (folder / path).lexically_normal().string(),
                     memory.substr(kBank.size() + path.size()));
}

}  // namespace dovetail::isa
