#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text_table.h"
#include "cli/arguments.h"
#include "cli/build_facts.h"
#include "cli/commands/all.h"
#include "cli/explore_models.h"
#include "cli/explore_progress.h"
#include "cli/hardware_area.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "cli/text.h"
#include "cli/watched_work.h"
#include "explore/sweep/report.h"
#include "explore/sweep/sweep.h"
#include "explore/sweep/what_if.h"

namespace dovetail::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAreaFlow = "generic";

class Explore : public Command {
 public:
  void declare(Options& options) override {
    options.positionals("MODEL.onnx... SPACE.json", files_,
                        "models, then the space of design points (none with --what-if)", File::read);
    options.value(
        "-o", "DIR", folder_,
        "folder for the points, the front and the page, made where it is missing; a sweep that is there goes on",
        File::folder);
    options.value("--weights", "W,W,...", weights_, "of the models' latencies and energies (default 1 each)");
    options.value("--strategy", "STRATEGY", strategy_, strategies_text()).choices(strategy_names());
    options.value("--points", "N", points_, "at most so many points (default: all of an exhaustive sweep, else 200)");
    options.value("--seed", "N", seed_, "of all that is random (default 1)");
    options.value("--jobs", "N", jobs_, "points at once (default: one for each processor)");
    options.value("--energy", "FILE", energy_, "what differs from the kit's table of energies (docs/energy.md)",
                  File::read);
    numeric_.declare(options);
    options.flag("--no-prune", no_prune_, "measure what lower bounds rule out, too");
    options.flag("--no-check", no_check_, "do not run each hardware's programs with values");
    options
        .values("--confirm", "HOW", confirm_,
                "of the points on the front: rtl (cycles and values of the Verilated design), systemc (of the SystemC "
                "platform, several accelerators too), area (a run of Yosys); repeatable")
        .choices({"rtl", "systemc", "area"});
    options.value("--confirm-most", "N", confirm_most_,
                  "points that are confirmed, evenly along the front (default 4)");
    options.value("--point", "KEY", point_, "measure this one point alone, and print it as JSON");
    options.value("--what-if", "CONFIG", what_if_,
                  "no sweep: what one step more of each resource of this machine gives, and costs");
    options.json(json_);
    options.footer(
        "Every point is compiled with its own tiling and timed exactly. DIR gets points.db, points.csv, front.json and "
        "report.html;\n"
        "Ctrl-C or a crash loses no finished point, and several explorers may share DIR. docs/exploring.md describes "
        "the space.\n"
        "Example: dovetail explore examples/digits/digits_int8.onnx examples/explore/space.json -o build/explore");
  }

  Result<Exit> run() override {
    DOVETAIL_TRY(read_options());
    DOVETAIL_ASSIGN(const explore::AreaModel area, explore::AreaModel::of_kit());
    DOVETAIL_ASSIGN(explore::EnergyTable energy, explore::default_energy_table());
    if (energy_) {
      DOVETAIL_ASSIGN(const std::string text, read_text_file(*energy_));
      DOVETAIL_ASSIGN(energy, explore::overlay(std::move(energy), text, *energy_));
    }
    WatchedWork watched({});
    options_.work = watched.work();
    if (what_if_) return show_what_if(area, energy, watched);

    const std::string space_path = files_.back();
    files_.pop_back();
    DOVETAIL_ASSIGN(const Json space_json, read_json_file(space_path));
    DOVETAIL_ASSIGN(const explore::Space space, explore::Space::parse(space_json, space_path));
    if (options_.points == 0 && options_.strategy != "exhaustive") options_.points = 200;
    DOVETAIL_ASSIGN(const auto points, ExploreModels::make(space, models(), numeric_, area, energy));
    if (point_) return show_point(space, *points);
    if (!folder_)
      return Diagnostic{"bad usage of `dovetail explore`", "-o", "there is no folder for what is found", "add -o DIR"};
    DOVETAIL_TRY(make_result_folder("-o", *folder_));
    DOVETAIL_ASSIGN(explore::PointsFile file,
                    explore::PointsFile::open(fs::path(*folder_) / "points.db", identity(space, *points, energy)));

    ExploreProgress progress;
    options_.on_progress = [&](const explore::SweepProgress& now) { progress.show(now); };
    const auto start = std::chrono::steady_clock::now();
    watched.begin();
    const explore::EvaluatorFor evaluator = [&](const explore::Genes& genes) -> const explore::Evaluator& {
      return points->of(genes);
    };
    const auto swept = explore::sweep(space, evaluator, file, options_);
    watched.finish();
    progress.end();
    explore::SweepReport report;
    report.models = files_;
    for (const explore::Workload::Model& model : points->models()) report.names.push_back(model.name);
    report.accuracy = points->accuracy();
    DOVETAIL_ASSIGN(report.quantised, points->write((fs::path(*folder_) / "models").string()));
    report.space_path = space_path;
    report.strategy = options_.strategy;
    report.space = &space;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (swept.ok()) report.finished = swept->done - swept->known;
    report.technology = area.technology().name;
    report.energy = energy.statement();
    report.area_fitted = area.error(false);
    report.area_held_back = area.error(true);
    // What a sweep that was stopped has found is worth a report, too.
    DOVETAIL_ASSIGN(report.points, file.all());
    report.front = explore::front_of(report.points, space.objectives());
    DOVETAIL_TRY(add_layers(report, *points));
    DOVETAIL_TRY(write(report));
    if (json_) print_json(report.json());
    else print("{}", report.text());
    if (!swept.ok()) return fail(Exit::failed, swept.errors());
    if (!json_) print("\nwritten       {0}/report.html, {0}/points.csv, {0}/front.json, {0}/points.db\n", *folder_);
    return confirm(report, *points, area);
  }

 private:
  static std::vector<std::string> strategy_names() {
    std::vector<std::string> names;
    for (const explore::StrategyRow& row : explore::strategies()) names.emplace_back(row.name);
    return names;
  }
  static std::string strategies_text() {
    std::string text = "how points are chosen (default exhaustive)";
    for (const explore::StrategyRow& row : explore::strategies())
      text += fmt::format("\n{}: {}", row.name, row.summary);
    return text;
  }

  Result<void> read_options() {
    if (files_.size() < (what_if_ ? 1U : 2U))
      return Diagnostic{"bad usage of `dovetail explore`", "MODEL.onnx... SPACE.json",
                        what_if_ ? "there is no model" : "there is no model or no space",
                        "give the models, then the space's JSON file; `dovetail explore --help` has an example"};
    DOVETAIL_TRY(explore::find_strategy(strategy_));
    options_.strategy = strategy_;
    options_.prune = !no_prune_;
    options_.check = !no_check_;
    if (points_) {
      DOVETAIL_ASSIGN(const std::int64_t most, parse_count("--points", *points_, 1));
      options_.points = static_cast<std::uint64_t>(most);
    }
    DOVETAIL_ASSIGN(options_.seed, parse_address("--seed", seed_));
    if (jobs_) {
      DOVETAIL_ASSIGN(const std::int64_t jobs, parse_count("--jobs", *jobs_, 1, 1024));
      options_.jobs = static_cast<int>(jobs);
    }
    for (const std::string& how : confirm_)
      if (how != "rtl" && how != "systemc" && how != "area")
        return Diagnostic{"bad value of --confirm", how, "there is no such way", "give rtl, systemc or area"};
    DOVETAIL_ASSIGN(most_confirmed_, parse_count("--confirm-most", confirm_most_, 1));
    const std::size_t models = files_.size() - (what_if_ ? 0 : 1);
    if (!weights_) {
      model_weights_.assign(models, 1);
      return {};
    }
    for (std::size_t begin = 0; begin <= weights_->size();) {
      const std::size_t end = std::min(weights_->find(',', begin), weights_->size());
      const std::string text = weights_->substr(begin, end - begin);
      char* last = nullptr;
      const double weight = std::strtod(text.c_str(), &last);
      if (text.empty() || *last != '\0' || !(weight > 0) || weight > 1e9)
        return Diagnostic{"bad value of --weights", *weights_, fmt::format("\"{}\" is no number above 0", text),
                          "write one for each model, as in 2,1"};
      model_weights_.push_back(weight);
      begin = end + 1;
    }
    if (model_weights_.size() != models)
      return Diagnostic{"bad value of --weights", *weights_,
                        fmt::format("{} weights for {} models", model_weights_.size(), models),
                        "write one for each model"};
    return {};
  }

  std::vector<explore::ModelFile> models() const {
    std::vector<explore::ModelFile> all;
    for (std::size_t i = 0; i < model_weights_.size(); ++i) all.push_back({files_[i], model_weights_[i]});
    return all;
  }

  // Numbers of another kit, table or space do not mix.
  static Json identity(const explore::Space& space, const ExploreModels& models, const explore::EnergyTable& energy) {
    Hash text;
    text.add(space.text());
    return {{"models", models.key()}, {"space", text.text()}, {"energy", energy.name}, {"kit", build_facts().version}};
  }

  Result<Exit> show_what_if(const explore::AreaModel& area, const explore::EnergyTable& energy, WatchedWork& watched) {
    DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_machine(*what_if_));
    DOVETAIL_ASSIGN(const explore::Workload workload, explore::Workload::make(models()));
    DOVETAIL_ASSIGN(const explore::Evaluator evaluator, explore::Evaluator::make(workload, area, energy, machine));
    watched.begin();
    const auto table = explore::what_if(evaluator, machine, options_.jobs, watched.work());
    watched.finish();
    if (!table.ok()) return fail(Exit::failed, table.errors());
    if (json_) {
      print_json(to_json(*table));
      return Exit::success;
    }
    print("what if       {} on {}: each row compiled and timed anew, one step more of one resource\n",
          fmt::format("{}", fmt::join(files_, " ")), machine.hardware.name);
    print("area, energy  models, {}; {}\n\n{}", area.technology().name, energy.statement(), to_text(*table));
    for (std::size_t i = 0; i < workload.models().size(); ++i) DOVETAIL_TRY(print_limits(evaluator, machine, i));
    return Exit::success;
  }

  // Which resource limits each layer.
  static Result<void> print_limits(const explore::Evaluator& evaluator, const isa::Machine& machine,
                                   std::size_t model) {
    const explore::Workload& workload = evaluator.workload();
    DOVETAIL_ASSIGN(const explore::Programs programs, workload.compile(machine.hardware));
    DOVETAIL_ASSIGN(const auto layers, evaluator.layers(programs, model, machine.system));
    TextTable table({"layer", ">cycles", ">of its bound", "bound by", ">own MACs/cycle", ">energy, mJ"});
    for (const explore::LayerTime& layer : layers)
      table.add(
          {layer.name.empty() ? "(of no layer)" : layer.name, with_separators(layer.cycles),
           layer.cycles == 0
               ? ""
               : fmt::format("{:.0f} %", 100.0 * static_cast<double>(layer.bound) / static_cast<double>(layer.cycles)),
           layer.bound_by,
           layer.cycles == 0
               ? ""
               : fmt::format("{:.1f}", static_cast<double>(layer.useful_macs) / static_cast<double>(layer.cycles)),
           fmt::format("{:.4g}", layer.energy_mj)});
    print("\nlayers of {}\n\n{}", workload.models()[model].name, table.to_string());
    return {};
  }

  Result<Exit> show_point(const explore::Space& space, const ExploreModels& models) {
    for (std::uint64_t index = 0; index < space.size(); ++index) {
      const explore::Genes genes = space.genes(index);
      const auto machine = space.machine(genes);
      if (!machine.ok() || space.key(*machine, genes) != *point_) continue;
      const explore::Evaluator& evaluator = models.of(genes);
      const auto programs = evaluator.compile(machine->hardware);
      if (!programs.ok()) return fail(Exit::failed, programs.errors());
      DOVETAIL_ASSIGN(const auto point, evaluator.measure(*programs, machine->system));
      print_json(Json{{"kind", "point"},
                      {"key", *point_},
                      {"machine", space.name_of(*machine)},
                      {"chosen", space.chosen(genes)},
                      {"values", to_json(point.metrics)},
                      {"models", point.models}});
      return Exit::success;
    }
    return Diagnostic{"there is no such point", *point_, "no valid configuration of the space has this key",
                      "points.csv lists the keys"};
  }

  static Result<void> add_layers(explore::SweepReport& report, const ExploreModels& models) {
    constexpr std::size_t kMostPoints = 64;  // seconds, and readers, are few
    for (std::size_t i = 0; i < std::min(report.front.size(), kMostPoints); ++i) {
      const explore::PointRecord& point = report.points[report.front[i]];
      const explore::Evaluator& evaluator = models.of(point);
      DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(report, point));
      DOVETAIL_ASSIGN(const explore::Programs programs, evaluator.compile(machine.hardware));
      auto& of_models = report.layers.emplace_back();
      for (std::size_t m = 0; m < evaluator.workload().models().size(); ++m) {
        DOVETAIL_ASSIGN(auto layers, evaluator.layers(programs, m, machine.system));
        of_models.push_back(std::move(layers));
      }
    }
    return {};
  }

  // Of a record, whose values are choices of the space.
  static Result<isa::Machine> machine_of(const explore::SweepReport& report, const explore::PointRecord& record) {
    return report.space->machine(report.space->genes_of(record.chosen));
  }

  Result<void> write(const explore::SweepReport& report) const {
    const fs::path folder(*folder_);
    Json front = report.json();
    front.erase("points");
    Json rows = Json::array();
    for (std::size_t i = 0; i < report.front.size(); ++i) {
      const explore::PointRecord& point = report.points[report.front[i]];
      rows.push_back({{"key", point.key},
                      {"machine", point.machine},
                      {"chosen", point.chosen},
                      {"values", point.values},
                      {"models", point.models},
                      {"command", report.command(point)}});
    }
    front["front"] = std::move(rows);
    DOVETAIL_TRY(write_text_file(folder / "points.csv", report.csv()));
    DOVETAIL_TRY(write_text_file(folder / "front.json", json_text(front)));
    return write_text_file(folder / "report.html", report.page());
  }

  // Cycles and values by another engine; false: the cycles differ.
  static Result<bool> confirm_cycles(const explore::PointRecord& point, const isa::Machine& machine,
                                     const std::string& engine_name, const explore::Evaluator& evaluator,
                                     RunningStep& step, TextTable& table) {
    step.begin(fmt::format("running {} on engine {}", point.machine, engine_name));
    simulator::EngineOptions engine;
    DOVETAIL_ASSIGN(engine.memory, explore::memory_of(machine.system));
    engine.accelerators = machine.system.accelerators;
    engine.build_missing = [&](std::string_view what) { step.begin(what); };
    DOVETAIL_ASSIGN(const auto make, runtime::simulator_factory(engine_name, engine));
    DOVETAIL_ASSIGN(const explore::Programs programs, evaluator.compile(machine.hardware));
    DOVETAIL_ASSIGN(const auto times, evaluator.workload().run(programs, make));
    bool equal = true;
    for (std::size_t m = 0; m < times.size(); ++m) {
      const auto before = point.models.at(m).at("cycles").get<std::uint64_t>();
      equal = equal && before == times[m].cycles;
      table.add({point.machine, fmt::format("{}, cycles of {}", engine_name, evaluator.workload().models()[m].name),
                 with_separators(before), with_separators(times[m].cycles),
                 fmt::format("{:+}", static_cast<std::int64_t>(times[m].cycles) - static_cast<std::int64_t>(before))});
    }
    return equal;
  }

  Result<Exit> confirm(const explore::SweepReport& report, const ExploreModels& models,
                       const explore::AreaModel& area) const {
    if (confirm_.empty() || report.front.empty()) return Exit::success;
    const std::size_t count = std::min<std::size_t>(report.front.size(), static_cast<std::size_t>(most_confirmed_));
    bool equal = true;
    RunningStep step;
    TextTable table({"confirmed", ">by", ">sweep", ">again", ">difference"});
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = count == 1 ? 0 : i * (report.front.size() - 1) / (count - 1);
      const explore::PointRecord& point = report.points[report.front[at]];
      DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(report, point));
      for (const std::string& how : confirm_) {
        if (how == "area") {
          step.begin(fmt::format("synthesising {}", point.machine));
          DOVETAIL_ASSIGN(const Area run, run_area(machine.hardware, kAreaFlow));
          const double gates = area.estimate(machine.hardware).gates,
                       counted = static_cast<double>(run.rows.front().used.front());
          table.add({point.machine, "Yosys, gates", fmt::format("{:.0f}", gates), fmt::format("{:.0f}", counted),
                     fmt::format("{:+.1f} %", 100 * (gates / counted - 1))});
          continue;
        }
        if (how == "rtl" && machine.system.accelerators > 1) {
          table.add({point.machine, "rtl: one accelerator only; --confirm systemc", "-", "-", "-"});
          continue;
        }
        DOVETAIL_ASSIGN(const bool same, confirm_cycles(point, machine, how, models.of(point), step, table));
        equal = equal && same;
      }
    }
    step.end();
    print("\n{}", table.to_string());
    if (equal) return Exit::success;
    return fail(Exit::failed,
                {Diagnostic{"a point takes another number of cycles", *folder_,
                            "the cycle simulator, the SystemC platform and the Verilated design must agree",
                            "this is a bug of the kit: report the point's command"}});
  }

  std::vector<std::string> files_, confirm_;
  std::optional<std::string> folder_, weights_, points_, jobs_, energy_, point_, what_if_;
  std::string strategy_ = "exhaustive", seed_ = "1", confirm_most_ = "4";
  bool no_prune_ = false, no_check_ = false, json_ = false;
  NumericArguments numeric_;
  explore::SweepOptions options_;
  std::vector<double> model_weights_;
  std::int64_t most_confirmed_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_explore() { return std::make_unique<Explore>(); }

}  // namespace dovetail::cli
