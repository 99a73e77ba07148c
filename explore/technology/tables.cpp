#include "explore/technology/tables.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "isa/nearest.h"
#include "simulator/rtl/find.h"

namespace dovetail::explore {

namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 24;
constexpr std::string_view kKitTables = "cmos45";  // the name of the kit's tables, which are the default

// The text of an example or of a file.
Result<std::string> read_table(const std::string& given, std::string_view ExampleTables::*table,
                               std::string_view what) {
  std::vector<std::string_view> names{kKitTables};
  for (const ExampleTables& example : example_tables()) {
    if (example.name == given) return std::string(example.*table);
    names.push_back(example.name);
  }
  std::error_code error;
  if (!given.ends_with(".json") && given.find('/') == std::string::npos && !std::filesystem::exists(given, error))
    return Diagnostic{std::string(what), given, "this is neither an example of the kit nor a file",
                      isa::suggestion(given, names) + ", or give a JSON file"};
  return read_text_file(given, kMostFileBytes);
}

}  // namespace

Result<EnergyTable> choose_energy(const std::optional<std::string>& given) {
  DOVETAIL_ASSIGN(EnergyTable table, default_energy_table());
  if (!given || given == kKitTables) return table;
  DOVETAIL_ASSIGN(const std::string text, read_table(*given, &ExampleTables::energy, "cannot read an energy overlay"));
  return overlay(std::move(table), text, *given);
}

Result<Technology> choose_technology(const std::optional<std::string>& given) {
  const std::string file =
      given && given != kKitTables ? *given : (simulator::hardware_folder() / "syn" / "technology.json").string();
  DOVETAIL_ASSIGN(const std::string text, read_table(file, &ExampleTables::area, "cannot read a technology file"));
  DOVETAIL_ASSIGN(const Json json, parse_json(text, file));
  return technology_from_json(json, file);
}

Result<AreaModel> choose_area(const std::optional<std::string>& technology) {
  DOVETAIL_ASSIGN(AreaModel model, AreaModel::of_kit());
  if (!technology || technology == kKitTables) return model;
  DOVETAIL_ASSIGN(Technology chosen, choose_technology(technology));
  return model.in(std::move(chosen));
}

}  // namespace dovetail::explore
