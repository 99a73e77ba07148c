// Configurations from and to JSON: our keys (spec::kParameters, spec::kExtensions) and VTA's (spec::kVtaKeys), and the
// changes of a configuration on the command line.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "isa/config.h"
#include "isa/hardware_file.h"
#include "isa/nearest.h"
#include "isa/spec/config.h"
#include "isa/system.h"

namespace dovetail::isa {

namespace {

// VTA's key of the system's clock.
constexpr std::string_view kVtaClock = "HW_FREQ";

// Collects the values that keys set, so that two keys for one parameter are detected.
class Reader {
 public:
  Reader(Machine& machine, std::string_view where) : machine_(machine), config_(machine.hardware), where_(where) {}

  void read(const std::string& key, const Json& value) {
    if (key == "name") return read_name(value);
    if (key == "system") return read_system(value);
    if (key == kVtaClock) vta_clock_ = value;
    for (const spec::Parameter& row : spec::kParameters)
      if (row.key == key) {
        if (const auto number = integer(key, value)) set(key, row.member, *number);
        return;
      }
    for (const spec::Extension& row : spec::kExtensions)
      if (row.key == key) return read_extension(row, value);
    for (const spec::VtaKey& row : spec::kVtaKeys)
      if (row.key == key) return read_vta(row, value);
    error(key, "no parameter has this name", suggestion(key, known_keys()));
  }

  // Called when all keys are read: takes VTA's clock if no other is given.
  void finish() {
    if (!vta_clock_) return;
    Result<SystemConfig> vta = system_from_json({{"clock_mhz", *vta_clock_}}, where_);
    if (!vta.ok())
      return error(std::string(kVtaClock), vta.errors().front().why, "write the clock in MHz, or leave it out");
    if (has_system_ && machine_.system.clock_mhz != vta->clock_mhz)
      return error(
          std::string(kVtaClock),
          fmt::format("the key sets {} MHz, but \"system\" sets {}", vta->clock_mhz, machine_.system.clock_mhz),
          "remove one of the two");
    machine_.system.clock_mhz = vta->clock_mhz;
  }

  Diagnostics& errors() { return errors_; }

 private:
  struct Setting {
    std::int64_t HardwareConfig::*member;
    std::string key;
  };

  void error(const std::string& key, std::string why, std::string hint) {
    errors_.push_back({"cannot read the hardware configuration", fmt::format("{}, \"{}\"", where_, key), std::move(why),
                       std::move(hint)});
  }

  std::optional<std::int64_t> integer(const std::string& key, const Json& value) {
    if (value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX))
      return value.get<std::int64_t>();
    error(key, fmt::format("{} is not an integer", value.dump()),
          value.is_string() ? "write an integer, without quotes" : "write an integer");
    return std::nullopt;
  }

  void set(const std::string& key, std::int64_t HardwareConfig::*member, std::int64_t value) {
    for (const Setting& earlier : settings_)
      if (earlier.member == member && config_.*member != value)
        return error(key, fmt::format("the key sets {}, but \"{}\" sets {}", value, earlier.key, config_.*member),
                     "remove one of the two");
    settings_.push_back({member, key});
    config_.*member = value;
  }

  void read_name(const Json& value) {
    if (value.is_string()) config_.name = value.get<std::string>();
    if (std::ranges::any_of(config_.name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      error("name", "it has a control character", "write the name in one line of printable characters");
    if (!value.is_string()) error("name", fmt::format("{} is not a string", value.dump()), "write the name in quotes");
  }

  void read_system(const Json& value) {
    Result<SystemConfig> system = system_from_json(value, fmt::format("{}, \"system\"", where_));
    has_system_ = true;
    if (system.ok()) machine_.system = *std::move(system);
    else errors_.insert(errors_.end(), system.errors().begin(), system.errors().end());
  }

  void read_extension(const spec::Extension& row, const Json& value) {
    if (value.is_boolean()) config_.*row.member = value.get<bool>();
    else
      error(std::string(row.key), fmt::format("{} is neither true nor false", value.dump()),
            value.is_string() ? "write true or false, without quotes" : "write true or false");
  }

  void read_vta(const spec::VtaKey& row, const Json& value) {
    const std::string key(row.key);
    if (row.kind == spec::VtaKey::Kind::ignored) return;
    const auto number = integer(key, value);
    if (!number) return;
    if (row.kind == spec::VtaKey::Kind::fixed) {
      if (*number != row.value)
        error(key, fmt::format("2^{} bits are not supported; {}: 2^{}", *number, row.doc, row.value),
              fmt::format("set {} to {}", key, row.value));
      return;
    }
    if (*number < row.value || *number > 40)
      return error(key, fmt::format("{} is not from {} to 40", *number, row.value),
                   "the values of VTA's LOG_ keys are base-2 logarithms");
    const std::int64_t size = std::int64_t{1} << (*number - row.value);
    set(key, row.first, size);
    if (row.second != nullptr) set(key, row.second, size);
  }

  static std::vector<std::string_view> known_keys() {
    std::vector<std::string_view> keys{"name", "system"};
    for (const spec::Parameter& row : spec::kParameters) keys.push_back(row.key);
    for (const spec::Extension& row : spec::kExtensions) keys.push_back(row.key);
    for (const spec::VtaKey& row : spec::kVtaKeys) keys.push_back(row.key);
    return keys;
  }

  Machine& machine_;
  HardwareConfig& config_;
  std::string where_;
  std::vector<Setting> settings_;
  bool has_system_ = false;
  std::optional<Json> vta_clock_;
  Diagnostics errors_;
};

Result<Machine> load_unchanged(std::string_view name_or_path) {
  std::vector<std::string_view> names;
  for (const Machine& machine : named_machines()) {
    if (machine.hardware.name == name_or_path) return machine;
    names.push_back(machine.hardware.name);
  }
  const std::filesystem::path path(name_or_path);
  // A bare word that is not a file was meant as the name of a configuration.
  if (!name_or_path.ends_with(".json") && name_or_path.find('/') == std::string_view::npos &&
      !std::filesystem::exists(path))
    return Diagnostic{"cannot load the hardware configuration", std::string(name_or_path),
                      "this is neither a named configuration nor a file",
                      suggestion(name_or_path, names) + " (`dovetail hw list` shows all)"};
  DOVETAIL_ASSIGN(const Json json, read_json_file(path));
  DOVETAIL_ASSIGN(Machine machine, machine_from_json(json, name_or_path));
  machine.system.memory = memory_from(machine.system.memory, path.parent_path());
  return machine;
}

// The comma before the first "key=value"; npos: there are no changes. A path may have commas too, and the memory a
// path.
std::size_t find_changes(std::string_view text) {
  for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
    const std::string_view item = text.substr(comma + 1, text.find(',', comma + 1) - comma - 1);
    if (item.find('=') != std::string_view::npos &&
        (item.find('/') == std::string_view::npos || item.starts_with("memory=")))
      return comma;
  }
  return std::string_view::npos;
}

// The value of a change as JSON; a bare word becomes a string.
Json change_value(std::string_view text) {
  const Result<Json> json = parse_json(text, "");
  return json.ok() && (json->is_number() || json->is_boolean()) ? *json : Json(text);
}

constexpr std::array<std::string_view, 5> kOfSystem{"clock_mhz", "memory", "memory_clock_mhz", "accelerators", "split"};

// Applies the changes to a machine's JSON.
Result<Machine> change(const Machine& from, std::string_view text, std::string_view changes) {
  Json json = machine_to_json(from);
  std::vector<std::string_view> keys(kOfSystem.begin(), kOfSystem.end()), given;
  for (const spec::Parameter& row : spec::kParameters) keys.push_back(row.key);
  for (const spec::Extension& row : spec::kExtensions) keys.push_back(row.key);
  std::string name = from.hardware.name;
  while (!changes.empty()) {
    const std::string_view item = changes.substr(0, changes.find(','));
    changes.remove_prefix(std::min(changes.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    const auto bad = [&](std::string why, std::string hint) {
      return Diagnostic{"cannot change the hardware configuration", fmt::format("{}, \"{}\"", text, key),
                        std::move(why), std::move(hint)};
    };
    if (equals == std::string_view::npos || equals + 1 == item.size())
      return bad("the text is not of the form key=value", "write NAME,key=value,key=value without spaces");
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return bad("no parameter has this name", suggestion(key, keys));
    if (std::find(given.begin(), given.end(), key) != given.end())
      return bad("the key is given twice", "give the key once");
    given.push_back(key);
    const bool of_system = std::find(kOfSystem.begin(), kOfSystem.end(), key) != kOfSystem.end();
    (of_system ? json["system"] : json)[std::string(key)] = change_value(item.substr(equals + 1));
    if (!of_system) name += fmt::format(",{}", item);
  }
  json["name"] = name;
  return machine_from_json(json, text);
}

}  // namespace

Result<Machine> machine_from_json(const Json& json, std::string_view where) {
  if (!json.is_object())
    return Diagnostic{"cannot read the hardware configuration", std::string(where),
                      fmt::format("expected a JSON object, found a JSON {}", json.type_name()),
                      "write {\"batch\": 1, \"block_in\": 16, ...}"};
  Machine machine;
  machine.hardware.name = std::filesystem::path(where).stem().string();
  if (machine.hardware.name.empty()) machine.hardware.name = "unnamed";
  Reader reader(machine, where);
  for (const auto& [key, value] : json.items()) reader.read(key, value);
  reader.finish();
  Diagnostics errors = std::move(reader.errors());
  if (errors.empty()) errors = validate(machine.hardware).errors();
  if (errors.empty()) errors = check_accelerators(machine).errors();
  if (!errors.empty()) return errors;
  return machine;
}

Result<HardwareConfig> config_from_json(const Json& json, std::string_view where) {
  DOVETAIL_ASSIGN(Machine machine, machine_from_json(json, where));
  DOVETAIL_TRY(check_uniform(machine, "a hardware configuration"));
  return std::move(machine.hardware);
}

Json config_to_json(const HardwareConfig& config) {
  Json json = Json::object();
  json["name"] = config.name;
  for (const spec::Parameter& row : spec::kParameters) json[std::string(row.key)] = config.*row.member;
  for (const spec::Extension& row : spec::kExtensions) json[std::string(row.key)] = config.*row.member;
  return json;
}

namespace {

// One configuration, with its changes.
Result<Machine> load_one(std::string_view text) {
  const std::size_t comma = find_changes(text);
  std::error_code error;
  if (comma == std::string_view::npos || std::filesystem::exists(std::filesystem::path(text), error))
    return load_unchanged(text);
  DOVETAIL_ASSIGN(const Machine from, load_unchanged(text.substr(0, comma)));
  return change(from, text, text.substr(comma + 1));
}

// The configurations of "A+3*B". The path of a file may have the sign too.
std::vector<std::string_view> terms_of(std::string_view text) {
  std::vector<std::string_view> terms;
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::path(text), error)) return {text};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    terms.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return terms;
}

// The changes of a term: those of its configuration, and those of the system.
struct TermChanges {
  std::string hardware, system;
};
TermChanges changes_of(std::string_view changes) {
  TermChanges all;
  while (!changes.empty()) {
    const std::string_view item = changes.substr(0, changes.find(','));
    changes.remove_prefix(std::min(changes.size(), item.size() + 1));
    const std::string_view key = item.substr(0, item.find('='));
    const bool of_system = std::ranges::find(kOfSystem, key) != kOfSystem.end();
    std::string& to = of_system ? all.system : all.hardware;
    to += fmt::format("{}{}", to.empty() ? "" : ",", item);
  }
  return all;
}

Diagnostic cannot_combine(std::string_view text, std::string_view term, std::string why, std::string hint) {
  return {"cannot combine the accelerators", fmt::format("{}, \"{}\"", text, term), std::move(why), std::move(hint)};
}

Result<Machine> load_sum(std::string_view text, const std::vector<std::string_view>& terms) {
  std::optional<Machine> sum;
  std::string of_system;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    std::string_view term = terms[t];
    std::size_t count = 1;
    if (const std::size_t star = term.find('*'); star != std::string_view::npos) {
      const Result<Json> number = parse_json(term.substr(0, star), "");
      if (!number.ok() || !number->is_number_integer() || *number < 1 || *number > kMostAccelerators)
        return cannot_combine(text, term,
                              fmt::format("{} is not a number from 1 to {}", term.substr(0, star), kMostAccelerators),
                              "write 3*NAME for three accelerators of one configuration");
      count = number->get<std::size_t>();
      term.remove_prefix(star + 1);
    }
    if (term.empty()) return cannot_combine(text, terms[t], "a configuration is missing", "write NAME+NAME, or 3*NAME");
    const std::size_t comma = find_changes(term);
    const bool has_changes = comma != std::string_view::npos;
    const TermChanges changes = changes_of(has_changes ? term.substr(comma + 1) : std::string_view());
    if (!changes.system.empty() && t + 1 < terms.size())
      return cannot_combine(text, terms[t], fmt::format("{} is a parameter of the system", changes.system),
                            "write it after the last configuration");
    of_system = changes.system;
    const std::string own =
        fmt::format("{}{}{}", term.substr(0, comma), changes.hardware.empty() ? "" : ",", changes.hardware);
    DOVETAIL_ASSIGN(Machine machine, load_one(own));
    DOVETAIL_TRY(check_uniform(machine, "a sum of accelerators"));
    if (!sum) {
      if (machine.system.accelerators > 1)
        return cannot_combine(text, terms[t], "its file sets `accelerators`", "write 2*NAME for two accelerators");
      sum = machine;
      --count;
    }
    sum->system.others.insert(sum->system.others.end(), count, machine.hardware);
  }
  if (sum->system.others.size() >= static_cast<std::size_t>(kMostAccelerators))
    return cannot_combine(
        text, terms.back(),
        fmt::format("there are {} accelerators, more than {}", sum->system.others.size() + 1, kMostAccelerators),
        "leave some out");
  std::vector<HardwareConfig> others = std::move(sum->system.others);
  sum->system.others.clear();
  if (!of_system.empty()) {
    if (of_system.find("accelerators=") != std::string::npos)
      return cannot_combine(text, terms.back(), "the sum has its number of accelerators", "write 3*NAME");
    DOVETAIL_ASSIGN(sum, change(*sum, text, of_system));
  }
  if (std::ranges::all_of(others, [&](const HardwareConfig& other) { return other == sum->hardware; })) {
    sum->system.accelerators = static_cast<std::int64_t>(others.size()) + 1;
    return *std::move(sum);
  }
  sum->system.others = std::move(others);
  sum->system.accelerators = static_cast<std::int64_t>(sum->system.others.size()) + 1;
  DOVETAIL_TRY(check_accelerators(*sum));
  return *std::move(sum);
}

}  // namespace

Result<Machine> load_machine(std::string_view text) {
  const std::vector<std::string_view> terms = terms_of(text);
  const bool is_sum = terms.size() > 1 || (!terms.empty() && terms[0].find('*') != std::string_view::npos);
  return is_sum ? load_sum(text, terms) : load_one(text);
}

std::string hardware_from(std::string_view text, const std::filesystem::path& folder) {
  if (folder.empty()) return std::string(text);
  std::error_code error;
  std::size_t comma = find_changes(text);
  if (comma != std::string_view::npos && std::filesystem::exists(folder / text, error)) comma = std::string_view::npos;
  const std::string_view name = text.substr(0, comma);
  const bool is_named =
      std::ranges::any_of(named_machines(), [&](const Machine& machine) { return machine.hardware.name == name; });
  const bool is_file = name.ends_with(".json") || name.find('/') != std::string_view::npos ||
                       std::filesystem::exists(folder / name, error);
  std::string own = is_named || !is_file ? std::string(name) : (folder / name).lexically_normal().string();
  if (comma == std::string_view::npos) return own;
  constexpr std::string_view kMemory = ",memory=";
  std::string_view changes = text.substr(comma);
  const std::size_t at = changes.find(kMemory);
  if (at == std::string_view::npos) return own.append(changes);
  const std::string_view memory = changes.substr(at + kMemory.size());
  return own.append(changes.substr(0, at)).append(kMemory).append(memory_from(memory, folder));
}

Json portable_machine_json(const Machine& machine) {
  Json json = machine_to_json(machine);
  std::error_code error;
  json["system"]["memory"] = memory_from(machine.system.memory, std::filesystem::current_path(error));
  return json;
}

Result<HardwareConfig> load_config(std::string_view name_or_path) {
  DOVETAIL_ASSIGN(Machine machine, load_uniform_machine(name_or_path, "this command"));
  return std::move(machine.hardware);
}

}  // namespace dovetail::isa
