#include "explore/sweep/report.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell_word.h"
#include "base/text_table.h"
#include "explore/sweep/evaluate.h"
#include "explore/sweep/page_source.h"
#include "simulator/cycle/bounds.h"
#include "simulator/memory/system_memory.h"

namespace dovetail::explore {

namespace {

constexpr std::size_t kMostRows = 40;  // rows of the front, in the terminal

std::string number(double value) { return fmt::format("{:.4g}", value); }

// A cell of a spreadsheet. Text with a comma or quote is quoted.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<std::string> parameters_of(const Space& space) {
  std::vector<std::string> names;
  for (const Axis& axis : space.axes())
    for (const auto& [parameter, value] : axis.choices.front()) names.push_back(parameter);
  return names;
}

// The average factor by which one step along an axis changes each objective: the geometric mean over pairs of measured
// points that differ only in this axis, by one choice.
struct Sensitivity {
  std::string axis, from, to;
  std::size_t pairs = 0;
  std::vector<double> factors;  // a factor for each objective
};
std::vector<Sensitivity> sensitivities(const Space& space, const std::vector<PointRecord>& points) {
  std::vector<Sensitivity> rows;
  const auto text_of = [](const Json& chosen) { return chosen.dump(); };
  std::map<std::string, const PointRecord*> measured;
  for (const PointRecord& point : points)
    if (point.state == PointState::measured) measured.emplace(text_of(point.chosen), &point);
  const auto with = [](Json chosen, const Assignment& choice) {
    for (const auto& [parameter, value] : choice) chosen[parameter] = value;
    return chosen;
  };
  const auto matches = [](const Json& chosen, const Assignment& choice) {
    return std::ranges::all_of(choice, [&](const auto& set) { return chosen.at(set.first) == set.second; });
  };
  const auto words = [](const Assignment& choice) {
    std::vector<std::string> values;
    for (const auto& [parameter, value] : choice) values.push_back(plain(value));
    return fmt::format("{}", fmt::join(values, "+"));
  };
  for (const Axis& axis : space.axes())
    for (std::size_t step = 0; step + 1 < axis.choices.size(); ++step) {
      Sensitivity row{axis.name, words(axis.choices[step]), words(axis.choices[step + 1]), 0,
                      std::vector<double>(space.objectives().size(), 0)};
      for (const auto& [text, point] : measured) {
        if (!matches(point->chosen, axis.choices[step])) continue;
        const auto other = measured.find(text_of(with(point->chosen, axis.choices[step + 1])));
        if (other == measured.end()) continue;
        const Costs before = costs(metrics_from_json(point->values), space.objectives()),
                    after = costs(metrics_from_json(other->second->values), space.objectives());
        for (std::size_t i = 0; i < before.size(); ++i)
          row.factors[i] += before[i] != 0 && after[i] != 0 ? std::log(after[i] / before[i]) : 0;  // of two signs: NaN
        ++row.pairs;
      }
      for (double& factor : row.factors)
        factor = row.pairs == 0 ? 1 : std::exp(factor / static_cast<double>(row.pairs));
      rows.push_back(std::move(row));
    }
  return rows;
}

// The outcomes of the checks of a point's models; empty: not measured.
std::string check_of(const PointRecord& point) {
  std::vector<std::string> outcomes;
  for (const Json& model : point.models)
    if (const auto outcome = model.find("check"); outcome != model.end())
      if (const auto text = outcome->get<std::string>(); std::ranges::find(outcomes, text) == outcomes.end())
        outcomes.push_back(text);
  return fmt::format("{}", fmt::join(outcomes, "; "));
}

// The models of the points, as far as they are measured.
std::vector<std::string> names_of_models(const std::vector<PointRecord>& points) {
  std::vector<std::string> names;
  for (const PointRecord& point : points) {
    if (point.models.size() <= names.size()) continue;
    names.clear();
    for (const Json& model : point.models) names.push_back(model.at("model").get<std::string>());
  }
  return names;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

// The system's memory for --memory. A DRAM file has its hash, so that a file that has changed is refused. Where another
// memory than that of --hw is given, --memory also has the DRAM's clock.
std::string option_of(const isa::SystemConfig& system) {
  std::string text = system.memory;
  const auto spec = simulator::system_memory(system);
  const auto* bank = spec.ok() ? std::get_if<simulator::BankMemory>(&*spec) : nullptr;
  if (bank == nullptr) return text;
  if (!bank->standard.file.empty() && text.find(",hash=") == std::string::npos)
    text += fmt::format(",hash={}", bank->standard.hash);
  if (system.memory_clock_mhz && text.find(',') != std::string::npos)
    text += fmt::format(",dram-ps={}", bank->standard.clock_ps);
  return text;
}

}  // namespace

void SweepReport::name_machines() {
  for (PointRecord& point : points)
    if (const auto machine = machine_of(point); machine.ok() && !point.machine.empty())
      point.machine = space->name_of(*machine);
}

std::string SweepReport::find_unknown_energies(const EnergyTable& table) const {
  std::set<std::string> texts;
  for (const PointRecord& point : points) {
    if (point.state != PointState::measured) continue;
    const auto machine = machine_of(point);
    if (!machine.ok()) continue;
    const auto memory = memory_of(machine->system);
    const std::string unknown = memory.ok() ? unknown_dram_events(*memory, table) : "";
    if (!unknown.empty()) texts.insert(fmt::format("{}: {}", machine->system.memory, unknown));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string SweepReport::command(const PointRecord& point) const {
  std::string machine = point.machine, memory;
  if (const auto own = machine_of(point); own.ok()) {
    // The commas of the memory would end --hw.
    if (const std::string text = option_of(own->system); text.find(',') != std::string::npos) {
      machine = replaced(machine, fmt::format(",memory={}", own->system.memory), "");
      memory = fmt::format(" --memory {}", shell_word(text));
    }
  }
  std::vector<std::string> commands;
  std::vector<std::string> words = model_words;
  if (space->has_numerics()) {
    words = quantized.at(space->numerics(space->genes_of(point.chosen)).text());
    std::ranges::transform(words, words.begin(), shell_word);
  }
  for (const std::string& model : words)
    commands.push_back(fmt::format("dovetail run {} --target accel --engine cycle --hw {}{}{}{}", model,
                                   shell_word(machine), memory,
                                   energy_file.empty() ? "" : " --energy " + shell_word(energy_file),
                                   technology_file.empty() ? "" : " --technology " + shell_word(technology_file)));
  return fmt::format("{}", fmt::join(commands, " && "));
}

std::vector<std::string> SweepReport::shown_metrics() const {
  std::vector<std::string> keys{"power_w"};
  for (const Constraint& constraint : space->constraints())
    if (constraint.formula.metric() != nullptr) keys.push_back(constraint.key());
  std::erase_if(keys, [&](const std::string& key) {
    return std::ranges::find(space->objectives(), key, &Objective::key) != space->objectives().end();
  });
  std::vector<std::string> once;
  for (const std::string& key : keys)
    if (std::ranges::find(once, key) == once.end()) once.push_back(key);
  return once;
}

std::string SweepReport::count_of(std::string_view what, const std::function<bool(const PointRecord&)>& is) const {
  const auto counted = [&](const PointRecord& point) { return point.state == PointState::measured && is(point); };
  const auto all = std::ranges::count_if(points, counted);
  if (all == 0) return {};
  const auto on_front = std::ranges::count_if(front, [&](std::size_t i) { return counted(points[i]); });
  return fmt::format("{} measured points, {} of them on the front, {}", all, on_front, what);
}

std::string SweepReport::beyond_design() const {
  return count_of(
      "have a clock beyond that of their design, which the levels of logic of the area model allow (design_clock_mhz)",
      [&](const PointRecord& point) {
        const auto machine = machine_of(point);
        return machine.ok() && machine->system.clock_mhz > point.values.at("design_clock_mhz").get<double>();
      });
}

std::string SweepReport::between_regions() const {
  std::map<std::string, std::int64_t> least;  // regions, by model
  const auto each = [](const PointRecord& point, const auto& visit) {
    if (point.state != PointState::measured) return;
    for (const Json& model : point.models)
      visit(model.at("model").get<std::string>(), model.at("regions").get<std::int64_t>());
  };
  for (const PointRecord& point : points)
    each(point, [&](const std::string& model, std::int64_t regions) {
      const auto [known, added] = least.try_emplace(model, regions);
      if (!added) known->second = std::min(known->second, regions);
    });
  return count_of(
      "have more regions of a model than others: the host works between them, which their latency does not count",
      [&](const PointRecord& point) {
        bool more = false;
        each(point, [&](const std::string& model, std::int64_t regions) { more |= regions > least.at(model); });
        return more;
      });
}

bool SweepReport::extrapolates(const PointRecord& point) const {
  const auto machine = machine_of(point);
  return machine.ok() && !area->extrapolates(machine->hardware).empty();
}

std::string SweepReport::extrapolated() const {
  return count_of("are beyond the runs of the area model, so that the error of their area is not known",
                  [&](const PointRecord& point) { return extrapolates(point); });
}

std::string SweepReport::checks() const {
  std::map<std::string, std::size_t> outcomes;
  for (const PointRecord& point : points)
    if (point.state == PointState::measured) ++outcomes[check_of(point)];
  if (outcomes.empty()) return "no point was measured";
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : outcomes) parts.push_back(fmt::format("{} of {} points", outcome, count));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string SweepReport::text() const {
  std::map<PointState, std::size_t> states;
  for (const PointRecord& point : points) ++states[point.state];
  std::string out = fmt::format(
      "explored      {} with {}, {}: {} of {} points: {} measured, {} pruned by bounds, {} infeasible{}\n", space_path,
      fmt::join(models, " "), strategy, with_separators(points.size()), with_separators(space->size()),
      with_separators(states[PointState::measured]), with_separators(states[PointState::pruned]),
      with_separators(states[PointState::infeasible]),
      states[PointState::failed] == 0 ? "" : fmt::format(", {} failed", with_separators(states[PointState::failed])));
  if (finished > 0 && seconds > 0)
    out += fmt::format("speed         {} points in {:.1f} s, {:.0f} a minute\n", with_separators(finished), seconds,
                       static_cast<double>(finished) / seconds * 60);
  if (!processes.empty()) {
    const auto [least, most] = std::ranges::minmax(processes);
    out += fmt::format("processes     {}, {} to {} hardware configurations each\n", processes.size(), least, most);
  }
  out += fmt::format(
      "latency       exact cycles of the cycle simulator at the point's clock, without operations on the host\n");
  if (space->clock_model()) out += fmt::format("clock         {}\n", space->clock_model()->text());
  if (const std::string more = between_regions(); !more.empty()) out += fmt::format("host          {}\n", more);
  out += fmt::format("area          model of {} runs of Yosys, {}; {}\n", area->gates().logic_error(false).runs,
                     area->technology().name, area->error_text());
  if (const std::string beyond = extrapolated(); !beyond.empty()) out += fmt::format("extrapolated  {}\n", beyond);
  out += fmt::format("energy        {}\n", energy);
  if (!mixed.empty()) out += fmt::format("mixed         {}\n", mixed);
  if (!unknown_energies.empty())
    out += fmt::format("not included  in energies, because they are not known: {}\n", unknown_energies);
  if (const std::string beyond = beyond_design(); !beyond.empty()) out += fmt::format("clock         {}\n", beyond);
  if (!accuracy.empty()) out += fmt::format("accuracy      {}\n", accuracy);
  out += fmt::format("values        {}\n", checks());
  for (const PointRecord& point : points)
    if (point.state == PointState::failed) out += fmt::format("failed        {}: {}\n", point.machine, point.why);
  if (front.empty()) return out + "front         empty: no point was measured\n";
  const std::vector<std::string> names = parameters_of(*space);
  std::vector<std::string> head(names.begin(), names.end());
  for (const Objective& objective : space->objectives()) head.push_back(fmt::format(">{}", objective.key()));
  for (const std::string& key : shown_metrics()) head.push_back(fmt::format(">{}", key));
  TextTable table(head);
  for (std::size_t i = 0; i < std::min(front.size(), kMostRows); ++i) {
    const PointRecord& point = points[front[i]];
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.push_back(plain(point.chosen.at(name)));
    const Metrics metrics = metrics_from_json(point.values);
    for (const Objective& objective : space->objectives()) cells.push_back(number(objective.formula.value(metrics)));
    for (const std::string& key : shown_metrics()) cells.push_back(number(metrics.of(key)));
    table.add(cells);
  }
  out += fmt::format("front         {} points that no other point beats\n\n{}", front.size(), table.to_string());
  if (front.size() > kMostRows) out += fmt::format("  ... and {} more\n", front.size() - kMostRows);
  TextTable steps([&] {
    std::vector<std::string> columns{"parameter", ">from", ">to", ">pairs"};
    for (const Objective& objective : space->objectives()) columns.push_back(fmt::format(">{}", objective.key()));
    return columns;
  }());
  for (const Sensitivity& row : sensitivities(*space, points)) {
    if (row.pairs == 0) continue;
    std::vector<std::string> cells{row.axis, row.from, row.to, std::to_string(row.pairs)};
    for (const double factor : row.factors)
      cells.push_back(std::isfinite(factor) ? fmt::format("{:.3f}x", factor) : "-");
    steps.add(cells);
  }
  if (!steps.empty())
    out += fmt::format(
        "\neffect of one step along an axis, all else equal (geometric mean over pairs of measured points)\n\n{}",
        steps.to_string());
  return out;
}

std::string SweepReport::csv() const {
  const std::vector<std::string> names = parameters_of(*space);
  Metrics columns;
  if (space->has_numerics()) columns.accuracy = 0;
  Json metrics = to_json(columns);
  for (const Objective& objective : space->objectives()) metrics[objective.key()] = 0;
  std::string out = "key,machine,state,on_front";
  for (const std::string& name : names) out += "," + cell(name);
  for (const auto& [name, value] : metrics.items()) out += "," + cell(name);
  // Of several models, what each took.
  constexpr std::string_view kOfModel[] = {"cycles", "milliseconds", "energy_mj"};
  std::vector<std::string> several = names_of_models(points);
  if (several.size() < 2) several.clear();
  for (const std::string& model : several)
    for (const std::string_view what : kOfModel) out += "," + cell(fmt::format("{} {}", model, what));
  out += ",encoding,area_extrapolated,check,why\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointRecord& point = points[i];
    out += fmt::format("{},{},{},{}", point.key, cell(point.machine), name(point.state),
                       std::ranges::find(front, i) != front.end() ? 1 : 0);
    for (const std::string& name : names) out += "," + cell(plain(point.chosen.at(name)));
    // The table omits the lower bounds of points that were not measured, which would look like measurements.
    for (const auto& [name, value] : metrics.items())
      out += point.state == PointState::measured ? fmt::format(",{}", point.values.at(name).get<double>()) : ",";
    for (std::size_t m = 0; m < several.size(); ++m)
      for (const std::string_view what : kOfModel)
        out += m < point.models.size() ? "," + point.models[m].at(std::string(what)).dump() : ",";
    const auto machine = machine_of(point);
    const bool is_measured = point.state == PointState::measured && machine.ok();
    out += is_measured ? fmt::format(",{},{}", encoding_name(machine->hardware), extrapolates(point) ? 1 : 0) : ",,";
    out += "," + cell(check_of(point)) + "," + cell(point.why) + "\n";
  }
  return out;
}

std::string SweepReport::layers_csv() const {
  std::string out = "key,machine,model,layer,cycles,bound,bound_by,useful_macs,bytes_read,bytes_written,energy_mj";
  for (const std::string_view cause : simulator::kCycleCauseNames) out += fmt::format(",{}", cause);
  out += "\n";
  bool any = false;
  for (const PointRecord& point : points)
    for (const Json& model : point.models)
      for (const Json& layer : model.value("layers", Json::array())) {
        any = true;
        out += fmt::format("{},{},{}", point.key, cell(point.machine), cell(model.at("model").get<std::string>()));
        for (const auto& [key, value] : layer.items())
          if (key != "cycles_by_cause") out += "," + cell(plain(value));
        for (const auto& [cause, cycles] : layer.at("cycles_by_cause").items()) out += "," + cycles.dump();
        out += "\n";
      }
  return any ? out : "";
}

Json SweepReport::json() const {
  Json axes = Json::array(), objectives = Json::array(), all = Json::array(), steps = Json::array();
  for (const Axis& axis : space->axes()) {
    Json choices = Json::array();
    for (const Assignment& choice : axis.choices) {
      Json values = Json::object();
      for (const auto& [parameter, value] : choice) values[parameter] = value;
      choices.push_back(std::move(values));
    }
    axes.push_back({{"name", axis.name}, {"choices", choices}});
  }
  for (const Objective& objective : space->objectives())
    objectives.push_back({{"key", objective.key()}, {"title", objective.title()}, {"larger", objective.larger}});
  for (const PointRecord& point : points) all.push_back(to_json(point));
  for (const Sensitivity& row : sensitivities(*space, points)) {
    if (row.pairs == 0) continue;
    Json factors = Json::array();
    for (const double factor : row.factors) factors.push_back(std::isfinite(factor) ? Json(factor) : Json());
    steps.push_back(
        {{"axis", row.axis}, {"from", row.from}, {"to", row.to}, {"pairs", row.pairs}, {"factors", factors}});
  }
  Json front_rows = Json::array();
  for (std::size_t i = 0; i < front.size(); ++i) {
    Json of_models = Json::array();
    if (i < layers.size())
      for (const auto& of_model : layers[i]) {
        Json rows = Json::array();
        for (const LayerTime& layer : of_model) rows.push_back(to_json(layer));
        of_models.push_back(std::move(rows));
      }
    Json row{{"point", front[i]}, {"command", command(points[front[i]])}, {"layers", of_models}};
    if (const auto machine = machine_of(points[front[i]]); machine.ok())
      if (const auto memory = memory_of(machine->system); memory.ok())
        row["roof"] = {{"macs_per_cycle", machine->hardware.macs_per_uop()},
                       {"bytes_per_cycle", simulator::peak_rate(*memory, machine->hardware.bus_bytes).both_ways}};
    front_rows.push_back(std::move(row));
  }
  const ModelError held_back = area->gates().logic_error(true);
  Json metrics = Json::array();
  for (const MetricRow& row : metric_table())
    if (row.key != "accuracy" || space->has_numerics())
      metrics.push_back({{"key", row.key}, {"title", row.title}, {"larger", row.larger}});
  Json json{{"kind", "explore"},
            {"models", models},
            {"names", names},
            {"space", space_path},
            {"strategy", strategy},
            {"checks", checks()},
            {"size", space->size()},
            {"axes", axes},
            {"objectives", objectives},
            {"metrics", metrics},
            {"technology", area->technology().name},
            {"energy", fmt::format("{}{}{}", energy, mixed.empty() ? "" : "; " + mixed,
                                   unknown_energies.empty() ? "" : "; not included: " + unknown_energies)},
            {"area_error",
             {{"fitted_runs", area->gates().logic_error(false).runs},
              {"held_back_runs", held_back.runs},
              {"gates_mean", held_back.mean},
              {"gates_most", held_back.most},
              {"flip_flops_mean", area->gates().flip_flop_error(true).mean},
              {"text", area->error_text()}}},
            {"seconds", seconds},
            {"finished", finished},
            {"processes", std::max<std::size_t>(processes.size(), 1)},
            {"points", all},
            {"front", front_rows},
            {"steps", steps}};
  if (!accuracy.empty()) json["accuracy"] = accuracy;
  if (const std::string beyond = beyond_design(); !beyond.empty()) json["clock"] = beyond;
  if (space->clock_model()) json["clock_model"] = space->clock_model()->text();
  if (const std::string beyond = extrapolated(); !beyond.empty()) json["extrapolated"] = beyond;
  if (const std::string more = between_regions(); !more.empty()) json["host"] = more;
  return json;
}

Result<std::string> sweep_page(const Json& report, std::string_view where) {
  for (const char* key : {"models", "names", "axes", "objectives", "area_error", "points", "front", "steps"})
    if (!report.contains(key) || report.at(key).is_primitive())
      return Diagnostic{"cannot make a page", std::string(where),
                        fmt::format("\"{}\" is not a list, as in the report of a sweep", key),
                        "give the report of a sweep, as `dovetail explore --json` prints it"};
  std::string data = report.dump(-1, ' ', false, Json::error_handler_t::replace);
  // No string may end the element that contains it.
  for (std::size_t at = data.find('<'); at != std::string::npos; at = data.find('<', at))
    data.replace(at, 1, "\\u003c");
  std::string html = replaced(std::string(kSweepHtml), "@STYLE@", kSweepStyle);
  html = replaced(std::move(html), "@DATA@", data);
  return replaced(std::move(html), "@SCRIPT@", kSweepScript);
}

}  // namespace dovetail::explore
