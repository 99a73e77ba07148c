// Configurations from and to JSON: our keys (spec::kParameters, spec::kExtensions) and VTA's (spec::kVtaKeys).
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "isa/config.h"
#include "isa/nearest.h"
#include "isa/spec/config.h"

namespace dovetail::isa {

namespace {

// Collects the values that keys ask for, so that two keys for one parameter are found.
class Reader {
 public:
  Reader(HardwareConfig& config, std::string_view where) : config_(config), where_(where) {}

  void read(const std::string& key, const Json& value) {
    if (key == "name") return read_name(value);
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
    error(key, fmt::format("{} is no integer", value.dump()), "write a whole number without quotes");
    return std::nullopt;
  }

  void set(const std::string& key, std::int64_t HardwareConfig::*member, std::int64_t value) {
    for (const Setting& earlier : settings_)
      if (earlier.member == member && config_.*member != value)
        return error(key, fmt::format("it asks for {}, and \"{}\" for {}", value, earlier.key, config_.*member),
                     "keep one of the two");
    settings_.push_back({member, key});
    config_.*member = value;
  }

  void read_name(const Json& value) {
    if (value.is_string()) config_.name = value.get<std::string>();
    else error("name", fmt::format("{} is no string", value.dump()), "write the name in quotes");
  }

  void read_extension(const spec::Extension& row, const Json& value) {
    if (value.is_boolean()) config_.*row.member = value.get<bool>();
    else
      error(std::string(row.key), fmt::format("{} is neither true nor false", value.dump()),
            "write true or false without quotes");
  }

  void read_vta(const spec::VtaKey& row, const Json& value) {
    const std::string key(row.key);
    if (row.kind == spec::VtaKey::Kind::ignored) return;
    const auto number = integer(key, value);
    if (!number) return;
    if (row.kind == spec::VtaKey::Kind::fixed) {
      if (*number != row.value)
        error(key, fmt::format("2^{} bits, and {}: 2^{}", *number, row.doc, row.value),
              fmt::format("set {} to {}", key, row.value));
      return;
    }
    if (*number < row.value || *number > 40)
      return error(key, fmt::format("{} is not from {} to 40", *number, row.value),
                   "VTA's LOG_ keys hold base-2 logarithms");
    const std::int64_t size = std::int64_t{1} << (*number - row.value);
    set(key, row.first, size);
    if (row.second != nullptr) set(key, row.second, size);
  }

  static std::vector<std::string_view> known_keys() {
    std::vector<std::string_view> keys{"name"};
    for (const spec::Parameter& row : spec::kParameters) keys.push_back(row.key);
    for (const spec::Extension& row : spec::kExtensions) keys.push_back(row.key);
    for (const spec::VtaKey& row : spec::kVtaKeys) keys.push_back(row.key);
    return keys;
  }

  HardwareConfig& config_;
  std::string where_;
  std::vector<Setting> settings_;
  Diagnostics errors_;
};

}  // namespace

Result<HardwareConfig> config_from_json(const Json& json, std::string_view where) {
  if (!json.is_object())
    return Diagnostic{"cannot read the hardware configuration", std::string(where),
                      fmt::format("a JSON {} where an object is expected", json.type_name()),
                      "write {\"batch\": 1, \"block_in\": 16, ...}"};
  HardwareConfig config;
  config.name = std::filesystem::path(where).stem().string();
  if (config.name.empty()) config.name = "unnamed";
  Reader reader(config, where);
  for (const auto& [key, value] : json.items()) reader.read(key, value);
  Diagnostics errors = std::move(reader.errors());
  if (errors.empty()) errors = validate(config).errors();
  if (!errors.empty()) return errors;
  return config;
}

Json config_to_json(const HardwareConfig& config) {
  Json json = Json::object();
  json["name"] = config.name;
  for (const spec::Parameter& row : spec::kParameters) json[std::string(row.key)] = config.*row.member;
  for (const spec::Extension& row : spec::kExtensions) json[std::string(row.key)] = config.*row.member;
  return json;
}

Result<HardwareConfig> load_config(std::string_view name_or_path) {
  std::vector<std::string_view> names;
  for (const HardwareConfig& config : named_configs()) {
    if (config.name == name_or_path) return config;
    names.push_back(config.name);
  }
  const std::filesystem::path path(name_or_path);
  // A bare word without a file of that name was meant as a name.
  if (!name_or_path.ends_with(".json") && name_or_path.find('/') == std::string_view::npos &&
      !std::filesystem::exists(path))
    return Diagnostic{"cannot load the hardware configuration", std::string(name_or_path),
                      "it is neither a named configuration nor a file",
                      suggestion(name_or_path, names) + " (`dovetail hw list` shows all)"};
  DOVETAIL_ASSIGN(const Json json, read_json_file(path));
  return config_from_json(json, name_or_path);
}

}  // namespace dovetail::isa
