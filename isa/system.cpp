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

constexpr std::array<std::string_view, 6> kSystemKeys{"clock_mhz",    "memory", "memory_clock_mhz",
                                                      "accelerators", "split",  "others"};
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

std::string name_of(const AcceleratorConfigs& configs) {
  std::string name;
  for (std::size_t begin = 0, end = 0; begin < configs.size(); begin = end) {
    while (end < configs.size() && configs[end] == configs[begin]) ++end;
    if (begin > 0) name += '+';
    if (end - begin > 1) name += fmt::format("{}*", end - begin);
    name += configs[begin].name;
  }
  return name;
}

std::string name_of(const Machine& machine) { return name_of(machine.configs()); }

Result<void> check_uniform(const Machine& machine, std::string_view what) {
  if (machine.is_uniform()) return {};
  return Diagnostic{"bad usage", name_of(machine),
                    fmt::format("{} takes one configuration, and these are {} accelerators that differ", what,
                                machine.system.accelerators),
                    fmt::format("name one of them, for example {}", machine.hardware.name)};
}

Result<Machine> load_uniform_machine(std::string_view text, std::string_view what) {
  DOVETAIL_ASSIGN(Machine machine, load_machine(text));
  DOVETAIL_TRY(check_uniform(machine, what));
  return machine;
}

Result<void> check_accelerators(const Machine& machine) {
  if (machine.is_uniform()) return {};
  const std::string name = name_of(machine);
  if (machine.system.split != Split::layers)
    return Diagnostic{
        "cannot combine the accelerators", name,
        fmt::format("accelerators that differ can divide layers, and `split` is {}", isa::name(machine.system.split)),
        fmt::format("write {},split=layers", name)};
  if (machine.system.accelerators > kMostAccelerators)
    return Diagnostic{"cannot combine the accelerators", name,
                      fmt::format("there are {}, more than {}", machine.system.accelerators, kMostAccelerators),
                      "leave some out"};
  return check_common(machine.configs());
}

Json system_to_json(const SystemConfig& system) {
  Json json{{"clock_mhz", number(system.clock_mhz)}, {"memory", system.memory}};
  if (system.memory_clock_mhz) json["memory_clock_mhz"] = number(*system.memory_clock_mhz);
  if (system.accelerators != 1) json["accelerators"] = system.accelerators;
  for (const HardwareConfig& other : system.others) json["others"].push_back(config_to_json(other));
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
  const auto read_others = [&](const Json& value) {
    if (!value.is_array() || value.empty() || value.size() >= kMostAccelerators)
      return errors.push_back(bad("others", fmt::format("{} is not a list of configurations", value.dump()),
                                  "write a JSON object for each accelerator after the first"));
    for (std::size_t i = 0; i < value.size(); ++i) {
      auto other = config_from_json(value[i], fmt::format("{}, \"others\", {}", where, i));
      if (other.ok()) system.others.push_back(*std::move(other));
      else errors.insert(errors.end(), other.errors().begin(), other.errors().end());
    }
  };
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
    } else if (key == "others") {
      read_others(value);
    } else {
      errors.push_back(bad(key, "the system has no key of this name", suggestion(key, kSystemKeys)));
    }
  }
  if (!errors.empty()) return errors;
  if (const auto all = static_cast<std::int64_t>(system.others.size()) + 1; all > 1) {
    if (json.contains("accelerators") && system.accelerators != all)
      return bad(
          "accelerators",
          fmt::format("it is {}, and \"others\" has {} more than the first accelerator", system.accelerators, all - 1),
          "leave it out");
    system.accelerators = all;
  }
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
