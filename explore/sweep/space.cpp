#include "explore/sweep/space.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/hash.h"
#include "isa/hardware_file.h"
#include "isa/nearest.h"
#include "isa/spec/config.h"
#include "simulator/memory/system_memory.h"

namespace dovetail::explore {

namespace {

constexpr std::array<std::string_view, 5> kOfSystem{"memory", "memory_clock_mhz", "clock_mhz", "accelerators", "split"};
// The count of points saturates here, so that it does not overflow.
constexpr std::uint64_t kMostPoints = std::uint64_t{1} << 62;
constexpr std::size_t kMostChoices = 4096;

std::vector<std::string_view> parameters() {
  std::vector<std::string_view> all(kOfSystem.begin(), kOfSystem.end());
  for (const isa::spec::Parameter& row : isa::spec::kParameters) all.push_back(row.key);
  for (const isa::spec::Extension& row : isa::spec::kExtensions) all.push_back(row.key);
  for (const std::string_view key : numeric_keys()) all.push_back(key);
  return all;
}

// `folder`: of the space's file.
void put(Json& machine, const std::string& parameter, const Json& value, const std::filesystem::path& folder) {
  if (is_numeric(parameter)) return;  // not a parameter of the machine
  if (parameter == "memory" && value.is_string()) {
    machine["system"][parameter] = isa::memory_from(value.get<std::string>(), folder);
    return;
  }
  (is_of_system(parameter) ? machine["system"] : machine)[parameter] = value;
}

// Reads one file, and collects its errors.
class Reader {
 public:
  Reader(Json& base, std::string_view where)
      : base_(base), where_(where), folder_(std::filesystem::path(where).parent_path()) {}

  void error(const std::string& key, std::string why, std::string hint) {
    errors.push_back(
        {"cannot read the space", fmt::format("{}, \"{}\"", where_, key), std::move(why), std::move(hint)});
  }

  void axes(const Json& json) {
    if (!json.is_object()) return error("axes", "expected a JSON object", R"(write {"block_in": [8, 16, 32], ...})");
    for (const auto& [parameter, values] : json.items()) {
      if (!claim(parameter, "axes")) continue;
      Axis axis{parameter, {}};
      for (const Json& value : choices(parameter, values)) axis.choices.push_back({{parameter, value}});
      add(std::move(axis));
    }
  }

  // Reads lists of objects: values that are chosen together.
  void together(const Json& json) {
    const std::string hint = R"(write [[{"block_in": 16, "block_out": 16}, {"block_in": 32, "block_out": 32}]])";
    if (!json.is_array()) return error("together", "expected a list of lists", hint);
    for (const Json& list : json) {
      if (!list.is_array() || list.empty() || !list.front().is_object() || list.front().empty()) {
        error("together", fmt::format("{} is not a list of objects", list.dump()), hint);
        continue;
      }
      std::vector<std::string> names;
      bool claimed = true;
      for (const auto& [parameter, value] : list.front().items()) {
        names.push_back(parameter);
        claimed = claim(parameter, "together") && claimed;
      }
      if (!claimed) continue;
      Axis axis{fmt::format("{}", fmt::join(names, "+")), {}};
      for (const Json& choice : list) {
        Assignment assignment;
        if (choice.is_object())
          for (const std::string& name : names)
            if (choice.contains(name)) assignment.emplace_back(name, choice.at(name));
        if (assignment.size() != names.size() || choice.size() != names.size())
          error("together",
                fmt::format("{} sets other parameters than the first object, which sets {}", choice.dump(), axis.name),
                hint);
        else axis.choices.push_back(std::move(assignment));
      }
      add(std::move(axis));
    }
  }

  void objectives(const Json& json, std::vector<Objective>& out) {
    const std::string hint =
        R"(list metrics and formulas: ["latency_ms", "energy_mj * latency_ms", {"maximize": "tops_per_w"}])";
    if (!json.is_array() || json.empty()) return error("objectives", "expected a list", hint);
    for (const Json& item : json) {
      std::string text = item.is_string() ? item.get<std::string>() : "";
      std::optional<bool> larger;
      if (item.is_object() && item.size() == 1 && item.front().is_string() &&
          (item.contains("minimize") || item.contains("maximize"))) {
        text = item.front().get<std::string>();
        larger = item.contains("maximize");
      } else if (!item.is_string()) {
        error("objectives", fmt::format("{} is neither a text nor {{\"minimize\" or \"maximize\": text}}", item.dump()),
              hint);
        continue;
      }
      auto formula = read_formula("objectives", text);
      if (!formula) continue;
      if (std::ranges::find(out, text, &Objective::key) != out.end())
        error("objectives", text + " is listed twice", "list it once");
      const MetricRow* const metric = formula->metric();
      out.push_back({*std::move(formula), larger.value_or(metric != nullptr && metric->larger)});
    }
  }

  void constraints(const Json& json, std::vector<Constraint>& out) {
    if (!json.is_object()) return error("constraints", "expected a JSON object", R"(write {"area_mm2": 4})");
    for (const auto& [key, value] : json.items()) {
      auto formula = read_formula("constraints", key);
      if (!formula) continue;
      const MetricRow* const metric = formula->metric();
      const bool larger = metric != nullptr && metric->larger;
      Constraint constraint{.formula = *std::move(formula)};
      if (value.is_number()) {
        (larger ? constraint.least : constraint.most) = value.get<double>();
      } else if (value.is_object() && !value.empty()) {
        for (const auto& [end, bound] : value.items())
          if ((end == "least" || end == "most") && bound.is_number())
            (end == "least" ? constraint.least : constraint.most) = bound.get<double>();
          else error(key, fmt::format("{} is not a bound", value.dump()), R"(write {"least": 1, "most": 2})");
      }
      const double bound = constraint.least.value_or(constraint.most.value_or(0));
      if ((!constraint.least && !constraint.most) || (value.is_number() && metric != nullptr && !(bound > 0)))
        error(key, fmt::format("{} must be a number above 0, or {{\"least\": ..., \"most\": ...}}", value.dump()),
              larger ? "write the least that a point may have" : "write the most that a point may have");
      else if (constraint.least && constraint.most && *constraint.least > *constraint.most)
        error(
            key,
            fmt::format("least {:g} > most {:g}, so that no point can satisfy it", *constraint.least, *constraint.most),
            "exchange the two bounds, or leave one out");
      else out.push_back(std::move(constraint));
    }
  }

  // The name of a clock model.
  void clock(const Json& json, bool is_axis, std::optional<ClockModel>& out) {
    if (!json.is_string())
      return error("clock", fmt::format("{} is not the name of a clock model", json.dump()),
                   fmt::format("write \"{}\", or an axis \"clock_mhz\"", kClockModel));
    if (is_axis) return error("clock", "the axis clock_mhz gives the points other clocks", "remove one of the two");
    auto model = choose_clock_model(json.get<std::string>(), fmt::format("{}, \"clock\"", where_));
    if (model.ok()) out = *std::move(model);
    else errors.insert(errors.end(), model.errors().begin(), model.errors().end());
  }

  void add_memory(const std::string& text) {
    const auto memory = simulator::system_memory({.memory = text});
    if (!memory.ok()) {
      for (const Diagnostic& each : memory.errors())
        errors.push_back(
            {"cannot read the space", fmt::format("{}, \"memory\": {}", where_, each.where), each.why, each.hint});
      return;
    }
    const auto* bank = std::get_if<simulator::BankMemory>(&*memory);
    if (bank != nullptr && !bank->standard.file.empty()) files += bank->standard.hash + " ";
  }

  std::vector<Axis> read;
  std::string files;  // the hashes of DRAM files
  Diagnostics errors;

 private:
  std::optional<Formula> read_formula(const std::string& key, const std::string& text) {
    auto formula = Formula::parse(text, fmt::format("{}, \"{}\"", where_, key));
    if (formula.ok()) return *std::move(formula);
    errors.insert(errors.end(), formula.errors().begin(), formula.errors().end());
    return std::nullopt;
  }

  bool claim(const std::string& parameter, const std::string& key) {
    const auto known = parameters();
    if (std::ranges::find(known, parameter) == known.end()) {
      error(parameter, "no parameter has this name", isa::suggestion(parameter, known));
      return false;
    }
    if (claimed_.insert(parameter).second) return true;
    error(key, parameter + " is on two axes", "name each parameter once");
    return false;
  }

  // A list, or {"from": A, "to": B, "times": F} or {"from": A, "to": B, "plus": S}.
  std::vector<Json> choices(const std::string& parameter, const Json& json) {
    if (json.is_array()) {
      if (json.empty()) error(parameter, "the list of values is empty", "list the values, or leave the parameter out");
      return {json.begin(), json.end()};
    }
    const auto number = [&](const char* key) -> std::optional<std::int64_t> {
      if (!json.is_object() || !json.contains(key) || !json.at(key).is_number_integer()) return std::nullopt;
      return json.at(key).get<std::int64_t>();
    };
    const auto from = number("from"), to = number("to"), times = number("times"), plus = number("plus");
    const bool grows = (times && *times > 1 && from && *from > 0) || (plus && *plus > 0);
    if (!from || !to || *from > *to || times.has_value() == plus.has_value() || !grows || json.size() != 3) {
      error(parameter, fmt::format("{} is neither a list nor a range", json.dump()),
            R"(write [8, 16, 32], {"from": 8, "to": 32, "times": 2} or {"from": 1, "to": 4, "plus": 1})");
      return {};
    }
    std::vector<Json> values;
    for (std::int64_t value = *from; value <= *to && values.size() < kMostChoices;) {
      values.emplace_back(value);
      if (__builtin_mul_overflow(value, times.value_or(1), &value) ||
          __builtin_add_overflow(value, plus.value_or(0), &value))
        break;
    }
    return values;
  }

  // Each choice alone must be valid in some configuration. Invalid combinations are reported for their points instead.
  void add(Axis axis) {
    std::set<std::string> seen;
    for (const Assignment& choice : axis.choices) {
      Json text = Json::object(), identity = Json::object(), machine = base_;
      for (const auto& [parameter, value] : choice) {
        text[parameter] = value;
        identity[parameter] = value;
        put(machine, parameter, value, folder_);
        Numerics any;
        if (is_numeric(parameter))
          if (const auto done = set(any, parameter, value); !done.ok())
            error(parameter, done.errors().front().why, done.errors().front().hint);
        if (parameter == "memory" && value.is_string()) {
          const std::string memory = isa::memory_from(value.get<std::string>(), folder_);
          add_memory(memory);
          identity[parameter] = simulator::memory_identity(memory);
        }
      }
      if (!seen.insert(identity.dump()).second)
        error(axis.name, fmt::format("{} is listed twice", text.dump()),
              "list each choice once; DRAM files with the same numbers are one choice");
      const auto read_machine = isa::machine_from_json(machine, where_);
      if (!read_machine.ok() && choice.size() == 1 && !is_combination(read_machine.errors(), axis.name))
        errors.insert(errors.end(), read_machine.errors().begin(), read_machine.errors().end());
    }
    if (!axis.choices.empty()) read.push_back(std::move(axis));
  }

  // validate() names a parameter whose value is never valid; any other error concerns several parameters.
  static bool is_combination(const Diagnostics& found, const std::string& parameter) {
    return std::ranges::none_of(
        found, [&](const Diagnostic& each) { return each.where.find(parameter) != std::string::npos; });
  }

  Json& base_;
  std::string where_;
  std::filesystem::path folder_;
  std::set<std::string> claimed_;
};

std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

// A machine's name with these changes. They replace earlier changes of the same parameters, since --hw accepts each
// parameter once.
std::string with_changes(const std::string& name, const std::string& changed) {
  const std::vector<std::string> own = items_of(name), added = items_of(changed);
  const auto key = [](const std::string& item) { return item.substr(0, item.find('=')); };
  std::vector<std::string> items;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (i == 0 || std::ranges::find(added, key(own[i]), key) == added.end()) items.push_back(own[i]);
  items.insert(items.end(), added.begin(), added.end());
  return fmt::format("{}", fmt::join(items, ","));
}

template <typename Is>
bool varies(const std::vector<Axis>& axes, const Is& is) {
  return std::ranges::any_of(axes, [&](const Axis& axis) {
    return std::ranges::any_of(axis.choices.front(), [&](const auto& each) { return is(each.first); });
  });
}

// Errors name the space.
Result<isa::Machine> load_base(const std::string& name, std::string_view where) {
  auto machine = isa::load_uniform_machine(name, "a sweep");
  if (machine.ok()) return machine;
  Diagnostics errors = machine.errors();
  for (Diagnostic& error : errors) {
    error.where = fmt::format("{}, \"hardware\": {}", where, error.where);
    std::error_code ignored;
    if (error.what == "cannot read file" && !std::filesystem::exists(name, ignored))
      error.hint = "check the path; it is relative to the space's file";
  }
  return errors;
}

// The objectives that the axes can change. More accelerators never shorten the latency of a batch.
std::vector<Objective> default_objectives(const std::vector<Axis>& axes) {
  std::vector<std::string_view> keys{"latency_ms", "area_mm2", "energy_mj"};
  if (varies(axes, [](std::string_view parameter) { return parameter == "accelerators"; }))
    keys.emplace_back("inferences_per_second");
  if (varies(axes, is_numeric)) keys.emplace_back("accuracy");
  std::vector<Objective> objectives;
  for (const std::string_view key : keys)
    objectives.push_back({Formula::parse(key, "").value(), find_metric(key)->larger});
  return objectives;
}

}  // namespace

std::string Objective::title() const {
  const MetricRow* const metric = formula.metric();
  return metric != nullptr ? std::string(metric->title) : formula.text();
}

bool is_of_system(std::string_view parameter) { return std::ranges::find(kOfSystem, parameter) != kOfSystem.end(); }

std::string_view encoding_name(const isa::HardwareConfig& hardware) {
  return hardware.encoding() == isa::Encoding::wide ? "wide" : "compact";
}

Result<Space> Space::parse(const Json& json, std::string_view where) {
  constexpr std::array<std::string_view, 6> kKeys{"hardware", "axes", "together", "objectives", "constraints", "clock"};
  if (!json.is_object())
    return Diagnostic{"cannot read the space", std::string(where), "expected a JSON object",
                      R"(write {"hardware": "1x16x16-ext", "axes": {"block_in": [8, 16, 32]}})"};
  Space space;
  space.json_ = json;
  space.base_name_ = "1x16x16";
  if (json.contains("hardware")) {
    if (!json.at("hardware").is_string())
      return Diagnostic{"cannot read the space", fmt::format("{}, \"hardware\"", where), "expected a string",
                        "name a configuration or its JSON file, as --hw does"};
    space.base_name_ =
        isa::hardware_from(json.at("hardware").get<std::string>(), std::filesystem::path(where).parent_path());
  }
  DOVETAIL_ASSIGN(space.base_, load_base(space.base_name_, where));
  space.base_json_ = isa::machine_to_json(space.base_);
  Reader reader(space.base_json_, where);
  for (const auto& [key, value] : json.items())
    if (std::ranges::find(kKeys, key) == kKeys.end())
      reader.error(key, "the key is unknown", isa::suggestion(key, kKeys));
  if (json.contains("axes")) reader.axes(json.at("axes"));
  if (json.contains("together")) reader.together(json.at("together"));
  if (json.contains("objectives")) reader.objectives(json.at("objectives"), space.objectives_);
  else space.objectives_ = default_objectives(reader.read);
  if (json.contains("constraints")) reader.constraints(json.at("constraints"), space.constraints_);
  if (!varies(reader.read, [](std::string_view parameter) { return parameter == "memory"; }))
    reader.add_memory(space.base_.system.memory);
  if (reader.read.empty() && reader.errors.empty())
    reader.error("axes", "the space has no axis, so it contains only one point",
                 R"(add "axes": {"block_in": [8, 16, 32]})");
  if (!varies(reader.read, is_numeric)) {
    const auto judges = [](const auto& each) { return each.formula.uses("accuracy"); };
    if (std::ranges::any_of(space.objectives_, judges) || std::ranges::any_of(space.constraints_, judges))
      reader.error("accuracy", "accuracy is measured only with numeric axes, and there is none",
                   fmt::format("add one of {}", fmt::join(numeric_keys(), ", ")));
  }
  if (json.contains("clock")) {
    reader.clock(json.at("clock"), varies(reader.read, [](std::string_view name) { return name == "clock_mhz"; }),
                 space.clock_model_);
  }
  if (!reader.errors.empty()) return reader.errors;
  space.axes_ = std::move(reader.read);
  space.folder_ = std::filesystem::path(where).parent_path();
  space.files_ = std::move(reader.files);
  if (std::ranges::none_of(isa::named_machines(), [&](const isa::Machine& named) {
        return named.hardware.name == space.base_name_.substr(0, space.base_name_.find(','));
      }))
    space.files_ += key_of(space.base_);
  std::ranges::stable_partition(space.axes_, [](const Axis& axis) {
    return std::ranges::any_of(axis.choices.front(), [](const auto& set) { return !is_of_system(set.first); });
  });
  return space;
}

std::uint64_t Space::size() const {
  std::uint64_t product = 1;
  for (const Axis& axis : axes_)
    if (__builtin_mul_overflow(product, axis.choices.size(), &product) || product > kMostPoints) return kMostPoints;
  return product;
}

Genes Space::genes(std::uint64_t index) const {
  Genes genes(axes_.size());
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    genes[axis] = static_cast<std::int32_t>(index % axes_[axis].choices.size());
    index /= axes_[axis].choices.size();
  }
  return genes;
}

Result<isa::Machine> Space::machine(const Genes& genes) const {
  Json json = base_json_;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    for (const auto& [parameter, value] : axes_[axis].choices[static_cast<std::size_t>(genes[axis])])
      put(json, parameter, value, folder_);
  DOVETAIL_ASSIGN(isa::Machine machine, isa::machine_from_json(json, base_name_));
  DOVETAIL_TRY(simulator::system_memory(machine.system));
  if (clock_model_) {
    DOVETAIL_ASSIGN(machine.system.clock_mhz, clock_model_->clock_mhz(machine));
  }
  machine.hardware.name = with_changes(base_name_, changes({base_.hardware, machine.system}, machine));
  return machine;
}

Numerics Space::numerics(const Genes& genes) const {
  Numerics numerics;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    for (const auto& [parameter, value] : axes_[axis].choices[static_cast<std::size_t>(genes[axis])])
      if (is_numeric(parameter)) DOVETAIL_CHECK(set(numerics, parameter, value).ok(), "a value that was parsed");
  return numerics;
}

bool Space::has_numerics() const { return varies(axes_, is_numeric); }

std::string Space::key(const isa::Machine& machine, const Genes& genes) const {
  if (!has_numerics()) return key_of(machine);
  Hash hash;
  hash.add(key_of(machine));
  hash.add(numerics(genes).text());
  return hash.text();
}

std::optional<Genes> Space::find_genes(const Json& chosen) const {
  if (!chosen.is_object()) return std::nullopt;
  Genes genes;
  for (const Axis& axis : axes_) {
    const auto choice = std::ranges::find_if(axis.choices, [&](const Assignment& each) {
      return std::ranges::all_of(each, [&](const auto& set) {
        const auto value = chosen.find(set.first);
        return value != chosen.end() && *value == set.second;
      });
    });
    if (choice == axis.choices.end()) return std::nullopt;
    genes.push_back(static_cast<std::int32_t>(choice - axis.choices.begin()));
  }
  return genes;
}

Genes Space::genes_of(const Json& chosen) const {
  std::optional<Genes> genes = find_genes(chosen);
  DOVETAIL_CHECK(genes.has_value(), chosen.dump());
  return *std::move(genes);
}

std::string Space::name_of(const isa::Machine& machine) const {
  return with_changes(base_name_, changes(base_, machine));
}

Json Space::chosen(const Genes& genes) const {
  Json json = Json::object();
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    for (const auto& [parameter, value] : axes_[axis].choices[static_cast<std::size_t>(genes[axis])])
      json[parameter] = value;
  return json;
}

std::string changes(const isa::Machine& from, const isa::Machine& to) {
  std::vector<std::string> changed;
  Json a = isa::machine_to_json(from), b = isa::machine_to_json(to);
  // The number of accelerators and their split are omitted where they are the default.
  a.at("system")["accelerators"] = from.system.accelerators;
  b.at("system")["accelerators"] = to.system.accelerators;
  a.at("system")["split"] = isa::name(from.system.split);
  b.at("system")["split"] = isa::name(to.system.split);
  const auto compare = [&](const Json& before, const Json& after) {
    for (const auto& [key, value] : after.items())
      if (key != "name" && !value.is_object() && (!before.contains(key) || before.at(key) != value))
        changed.push_back(fmt::format("{}={}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  };
  compare(a, b);
  compare(a.at("system"), b.at("system"));
  return fmt::format("{}", fmt::join(changed, ","));
}

std::string key_of(const isa::Machine& machine) {
  Json json = isa::machine_to_json(machine);
  json.erase("name");
  json["system"]["memory"] = simulator::memory_identity(machine.system.memory);
  Hash hash;
  hash.add(json.dump());
  return hash.text();
}

}  // namespace dovetail::explore
