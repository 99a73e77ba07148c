#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <ranges>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/commands/explore_confirm.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/board_processes.h"
#include "cli/shell/build_facts.h"
#include "cli/shell/explore_progress.h"
#include "cli/shell/grouped.h"
#include "cli/shell/numeric_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "cli/shell/source_arguments.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/watched_work.h"
#include "driver/explore_models.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"
#include "explore/distribute/mpi.h"
#include "explore/sweep/plots.h"
#include "explore/sweep/report.h"
#include "explore/sweep/sweep.h"
#include "explore/sweep/what_if.h"
#include "explore/technology/tables.h"

namespace dovetail::cli {

namespace {

namespace fs = std::filesystem;

class Explore : public Command {
 public:
  void declare(Options& options) override {
    options.positionals("MODEL.onnx... SPACE.json", files_,
                        "models (ONNX files, or shapes: .csv, .yaml), then the space of design points (none with "
                        "--what-if)",
                        File::read);
    source_.declare(options);
    options.value(
        "-o", "DIR", folder_,
        "folder for the points, the front and the page; a missing folder is created, and a sweep in it continues",
        File::folder);
    options.value("--weights", "W,W,...", weights_, "weights of the models' latencies and energies (default 1 each)");
    options.value("--strategy", "STRATEGY", strategy_, strategies_text()).choices(strategy_names());
    options.value("--points", "N", points_,
                  "maximum number of points (default: all points of an exhaustive sweep, else 200)");
    options.value("--seed", "N", seed_, "seed of the random choices (default 1)");
    options.value(
        "--batch", "N", batch_,
        "points measured before the strategy and the bounds use their results (default 64); with many processes\n"
        "give more, a few for each process");
    options.value("--jobs", "N", jobs_, "points measured at once (default: one for each processor)");
    options.value("--energy", "NAME|FILE.json", energy_,
                  "values that replace those of the kit's energy table (docs/reference/energy.md), or a name: cmos45 "
                  "(the kit's) or the examples cmos28, cmos7",
                  File::read);
    options.value("--technology", "NAME|FILE.json", technology_,
                  "technology of the areas and of the design's clock (default: cmos45, the kit's): cmos28, cmos7 or "
                  "a file\n(docs/howto/own-memory-and-technology.md)",
                  File::read);
    numeric_.declare(options);
    options.flag("--no-prune", no_prune_, "also measure points that lower bounds rule out");
    options.flag(
        "--layers", layers_,
        "also record the layers of every point, in layers.csv: cycles by cause, bound, bytes, energy; takes up "
        "to twice as long");
    options.value(
        "--plots", "DIR", plots_,
        "also write plots (SVG and PDF) and tables (LaTeX and CSV) for a paper, of the points, the front, steps "
        "and layers");
    options.flag("--no-check", no_check_, "do not run the programs with values to check them, only time them");
    options
        .values("--confirm", "HOW", confirm_,
                "check the points on the front: rtl (cycles and values in the Verilated design), systemc (the same on "
                "the SystemC platform, also with several accelerators), area (a run of Yosys: resources of the FPGA "
                "that the space uses, else gates); repeatable")
        .choices({"rtl", "systemc", "area"});
    options.value("--confirm-most", "N", confirm_most_,
                  "number of points to confirm, evenly along the front (default 4)");
    options.value("--point", "KEY", point_, "measure only this point, and print it as JSON");
    options.value("--what-if", "CONFIG", what_if_,
                  "no sweep: the gain and the cost of one step more of each resource of this machine");
    board_.declare(options, true);
    words_ = options.words();
    options.json(json_);
    options.footer(
        "Every point is compiled with its own tiling and timed exactly. DIR gets points.db, points.csv, front.json and "
        "report.html;\n"
        "Ctrl-C or a crash loses no finished point, and several explorers may share DIR. `mpirun -n N dovetail explore "
        "...` measures\n"
        "in N processes, on several machines too. docs/howto/exploring.md describes the space.\n"
        "Example: dovetail explore examples/digits/digits_int8.onnx examples/explore/space.json -o build/explore");
  }

  // One point, or the steps of one machine, are not divided.
  const BoardArguments* board() const override { return what_if_ || point_ ? &board_ : nullptr; }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const std::unique_ptr<explore::Transport> others, other_processes(board_, *words_));
    if (others && others->rank() > 0) return serve_sweep(*others);
    const explore::Dismissal dismissal(others.get());
    DOVETAIL_TRY(read_options());
    if (what_if_) return show_what_if();
    DOVETAIL_ASSIGN(const std::unique_ptr<Prepared> sweep, prepare());
    if (point_) return show_point(sweep->space, *sweep->points);
    if (!folder_)
      return Diagnostic{"bad usage of `dovetail explore`", "-o", "no folder is given for the results", "add -o DIR"};
    if (others && jobs_)
      return Diagnostic{"bad usage of `dovetail explore`", "--jobs",
                        "a process started by mpirun measures one point at a time",
                        "remove --jobs, and let mpirun start one process for each processor"};
    return run_sweep(*sweep, others.get());
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
    const std::size_t of_space = what_if_ ? 0 : 1;
    if (files_.size() < of_space + (source_.layers.empty() ? 1 : 0))
      return Diagnostic{"bad usage of `dovetail explore`", "MODEL.onnx... SPACE.json",
                        what_if_ ? "no model is given" : "a model or the space is missing",
                        "give the models, then the space's JSON file; `dovetail explore --help` has an example"};
    DOVETAIL_TRY(explore::find_strategy(strategy_));
    options_.strategy = strategy_;
    options_.prune = !no_prune_;
    options_.measure = {.check = !no_check_, .layers = layers_};
    if (points_) {
      DOVETAIL_ASSIGN(const std::int64_t most, parse_count("--points", *points_, 1));
      options_.points = static_cast<std::uint64_t>(most);
    }
    DOVETAIL_ASSIGN(options_.seed, parse_address("--seed", seed_));
    DOVETAIL_ASSIGN(const std::int64_t batch, parse_count("--batch", batch_, 1, 1'000'000));
    options_.batch = static_cast<std::uint64_t>(batch);
    if (jobs_) {
      DOVETAIL_ASSIGN(const std::int64_t jobs, parse_count("--jobs", *jobs_, 1, 1024));
      options_.jobs = static_cast<int>(jobs);
    }
    for (const std::string& how : confirm_)
      if (how != "rtl" && how != "systemc" && how != "area")
        return Diagnostic{"invalid value for --confirm", how, "the method is unknown", "give rtl, systemc or area"};
    DOVETAIL_ASSIGN(most_confirmed_, parse_count("--confirm-most", confirm_most_, 1));
    const std::size_t models = files_.size() - of_space + (source_.layers.empty() ? 0 : 1);
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
        return Diagnostic{"invalid value for --weights", *weights_, fmt::format("\"{}\" is not a number above 0", text),
                          "write one weight for each model, for example 2,1"};
      model_weights_.push_back(weight);
      begin = end + 1;
    }
    if (model_weights_.size() != models)
      return Diagnostic{"invalid value for --weights", *weights_,
                        fmt::format("{} weights are given for {} models", model_weights_.size(), models),
                        "write one weight for each model"};
    return {};
  }

  // Precondition: the space's file is not among the files anymore.
  Result<std::vector<explore::ModelFile>> models() {
    DOVETAIL_ASSIGN(sources_, source_.of(files_, "explore"));
    std::vector<explore::ModelFile> all;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      explore::ModelFile& file = all.emplace_back();
      file = {.path = sources_[i].title(), .weight = model_weights_[i], .name = sources_[i].name()};
      DOVETAIL_ASSIGN(file.content, driver::content_of(sources_[i]));
    }
    return all;
  }

  // Everything that points depend on. Must not move in memory: evaluators refer to it.
  struct Prepared {
    explore::AreaModel area;
    explore::EnergyTable energy;
    explore::Space space;
    bool technology = false;  // of an example or a file
    std::unique_ptr<driver::ExploreModels> points = {};

    explore::EvaluatorFor evaluator() const {
      return [this](const explore::Genes& genes) -> const explore::Evaluator& { return points->of(genes); };
    }
    // A points file with another identity is rejected, so that numbers of different kits, tables and spaces are not
    // mixed.
    Json identity() const {
      Hash text;
      text.add(space.text());
      Json identity{{"models", points->key()},
                    {"space", text.text()},
                    {"energy", energy.key()},
                    {"kit", build_facts().version},
                    {"metrics", explore::metric_keys()},
                    {"area", area.key()}};
      return identity;
    }
  };

  Result<std::unique_ptr<Prepared>> prepare() {
    space_path_ = files_.back();
    files_.pop_back();
    DOVETAIL_ASSIGN(explore::AreaModel area, explore::choose_area(technology_));
    DOVETAIL_ASSIGN(explore::EnergyTable energy, explore::choose_energy(energy_));
    DOVETAIL_ASSIGN(const Json space_json, read_json_file(space_path_));
    DOVETAIL_ASSIGN(explore::Space space, explore::Space::parse(space_json, space_path_));
    if (options_.points == 0 && options_.strategy != "exhaustive") options_.points = 200;
    auto all = std::make_unique<Prepared>(
        Prepared{std::move(area), std::move(energy), std::move(space), technology_.has_value()});
    DOVETAIL_ASSIGN(const driver::NumericSamples numeric, numeric_.read());
    DOVETAIL_ASSIGN(const std::vector<explore::ModelFile> files, models());
    RunningStep step;
    DOVETAIL_ASSIGN(all->points, driver::ExploreModels::make(all->space, files, numeric, all->area, all->energy,
                                                             [&](std::string_view what) { step.begin(what); }));
    return all;
  }

  // The work of a process other than process 0 of mpirun: it measures, and prints nothing.
  Result<Exit> serve_sweep(explore::Transport& transport) {
    const Result<void> served = [&]() -> Result<void> {
      DOVETAIL_TRY(read_options());
      if (what_if_ || point_) return {};  // process 0 needs no others
      DOVETAIL_ASSIGN(const std::unique_ptr<Prepared> sweep, prepare());
      return explore::serve(transport, sweep->identity().dump(), [&](std::string_view job) {
        return explore::do_job(sweep->space, sweep->evaluator(), options_.measure, job);
      });
    }();
    if (served.ok()) return Exit::success;
    explore::report_failure(transport, served.errors());
    return Exit::failed;
  }

  // `others`: null if there is no other process.
  Result<Exit> run_sweep(Prepared& sweep, explore::Transport* others) {
    DOVETAIL_TRY(driver::make_result_folder("-o", *folder_));
    if (plots_) DOVETAIL_TRY(driver::make_result_folder("--plots", *plots_));
    DOVETAIL_ASSIGN(explore::PointsFile file,
                    explore::PointsFile::open(fs::path(*folder_) / "points.db", sweep.identity(), &sweep.space));
    std::optional<explore::Farm> farm;
    if (others != nullptr) options_.farm = &farm.emplace(others, 1, sweep.identity().dump());
    WatchedWork watched({});
    options_.work = watched.work();
    ExploreProgress progress;
    options_.on_progress = [&](const explore::SweepProgress& now) { progress.show(now); };
    const auto start = std::chrono::steady_clock::now();
    watched.begin();
    const auto swept = explore::sweep(sweep.space, sweep.evaluator(), file, options_);
    watched.finish();
    progress.end();
    explore::SweepReport report;
    for (const driver::ModelSource& source : sources_) {
      report.models.push_back(source.title());
      report.model_words.push_back(source.words());
    }
    for (const explore::Workload::Model& model : sweep.points->models()) report.names.push_back(model.name);
    report.accuracy = sweep.points->accuracy();
    DOVETAIL_ASSIGN(report.quantized, sweep.points->write((fs::path(*folder_) / "models").string()));
    report.space_path = space_path_;
    report.strategy = options_.strategy;
    report.space = &sweep.space;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (swept.ok()) report.finished = swept->done - swept->known;
    if (farm) report.processes = farm->done();
    report.area = &sweep.area;
    report.energy = sweep.energy.statement();
    if (energy_) report.energy_file = *energy_;
    if (technology_) report.technology_file = *technology_;
    report.mixed = explore::mixed_technologies(sweep.area.technology(), sweep.energy);
    // A sweep that was stopped gets a report of its finished points, too.
    DOVETAIL_ASSIGN(report.points, file.all());
    report.name_machines();
    report.unknown_energies = report.find_unknown_energies(sweep.energy);
    report.front = explore::front_of(report.points, sweep.space.objectives());
    DOVETAIL_TRY(add_layers(report, *sweep.points));
    DOVETAIL_TRY(write(report));
    if (json_) print_json(report.json());
    else print("{}", report.text());
    if (!swept.ok()) {
      Diagnostics errors = swept.errors();
      if (options_.work->stopped())
        errors.front().hint = "finished points are saved; the same command continues the sweep";
      return fail(Exit::failed, errors);
    }
    if (!json_) print("\nwritten       {0}/report.html, {0}/points.csv, {0}/front.json, {0}/points.db\n", *folder_);
    if (!json_ && plots_ && !report.front.empty()) print("plots         {}\n", *plots_);
    if (const auto known = without_layers(report); layers_ && known > 0)
      print_progress(fmt::format(
          "{} points were measured earlier without --layers, and are not in layers.csv; a new folder has all", known));
    if (const auto none = none_is_feasible(report)) return fail(Exit::failed, {*none});
    if (const auto failed = failure_of(report)) return fail(Exit::failed, {*failed});
    return confirm_points(report, *sweep.points, sweep.area, {confirm_, most_confirmed_, *folder_});
  }

  // The measured points without layers.
  static std::ptrdiff_t without_layers(const explore::SweepReport& report) {
    return std::ranges::count_if(report.points, [](const explore::PointRecord& point) {
      return point.state == explore::PointState::measured && !point.models.empty() &&
             !point.models.front().contains("layers");
    });
  }

  // If points have failed, which others did not.
  static std::optional<Diagnostic> failure_of(const explore::SweepReport& report) {
    const auto failed = [](const explore::PointRecord& point) { return point.state == explore::PointState::failed; };
    const auto first = std::ranges::find_if(report.points, failed);
    if (first == report.points.end()) return std::nullopt;
    return Diagnostic{
        fmt::format("{} of {} points failed", std::ranges::count_if(report.points, failed), report.points.size()),
        first->machine, first->why,
        "this is a bug of the kit: report it with the model and the machine; the other points are valid"};
  }

  // If no point could be measured: the reasons, grouped.
  static std::optional<Diagnostic> none_is_feasible(const explore::SweepReport& report) {
    constexpr std::size_t kMostReasons = 8;
    std::vector<std::string> reasons;
    for (const explore::PointRecord& point : report.points) {
      if (point.state != explore::PointState::infeasible) return std::nullopt;
      reasons.push_back(point.why);
    }
    if (reasons.empty()) return std::nullopt;
    const auto groups = counted(reasons);
    std::string why;
    for (std::size_t i = 0; i < std::min(groups.size(), kMostReasons); ++i)
      why += fmt::format("{}{} of {}: {}", why.empty() ? "" : "; ", groups[i].second, reasons.size(), groups[i].first);
    if (groups.size() > kMostReasons) why += fmt::format("; and {} other reasons", groups.size() - kMostReasons);
    return Diagnostic{"no point of the space is feasible", report.space_path, std::move(why),
                      "widen the axes or the constraints; points.csv has the reason for every point"};
  }

  Result<Exit> show_what_if() {
    DOVETAIL_ASSIGN(const explore::AreaModel area, explore::choose_area(technology_));
    DOVETAIL_ASSIGN(const explore::EnergyTable energy, explore::choose_energy(energy_));
    WatchedWork watched({});
    DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_uniform_machine(*what_if_, "--what-if"));
    DOVETAIL_ASSIGN(const std::vector<explore::ModelFile> files, models());
    DOVETAIL_ASSIGN(const explore::Workload workload, explore::Workload::make(files));
    DOVETAIL_ASSIGN(const explore::Evaluator evaluator, explore::Evaluator::make(workload, area, energy, machine));
    watched.begin();
    const auto table = explore::what_if(evaluator, machine, options_.jobs, watched.work());
    watched.finish();
    if (!table.ok()) return fail(Exit::failed, table.errors());
    if (json_) {
      print_json(to_json(*table));
      return Exit::success;
    }
    print("what if       {} on {}: each row has one step more of one resource, compiled and timed anew\n",
          fmt::format("{}", fmt::join(workload.models() | std::views::transform(&explore::Workload::Model::path), " ")),
          machine.hardware.name);
    const std::string mixed = explore::mixed_technologies(area.technology(), energy);
    print("area, energy  models, {}; {}\n{}\n{}", area.technology().name, energy.statement(),
          mixed.empty() ? "" : fmt::format("mixed         {}\n", mixed), to_text(*table));
    for (std::size_t i = 0; i < workload.models().size(); ++i) DOVETAIL_TRY(print_limits(evaluator, machine, i));
    return Exit::success;
  }

  // Prints which resource limits each layer.
  static Result<void> print_limits(const explore::Evaluator& evaluator, const isa::Machine& machine,
                                   std::size_t model) {
    const explore::Workload& workload = evaluator.workload();
    DOVETAIL_ASSIGN(const explore::Programs programs, evaluator.compile(machine));
    DOVETAIL_ASSIGN(const auto layers, evaluator.layers(programs, model, machine.system));
    TextTable table({"layer", ">cycles", ">of its bound", "bound by", ">own MACs/cycle", ">energy, mJ"});
    for (const explore::LayerTime& layer : layers)
      table.add(
          {layer.name.empty() ? "(no layer)" : layer.name, with_separators(layer.cycles),
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

  Result<Exit> show_point(const explore::Space& space, const driver::ExploreModels& models) {
    for (std::uint64_t index = 0; index < space.size(); ++index) {
      const explore::Genes genes = space.genes(index);
      const auto machine = space.machine(genes);
      if (!machine.ok() || space.key(*machine, genes) != *point_) continue;
      const explore::Evaluator& evaluator = models.of(genes);
      const auto programs = evaluator.compile(*machine);
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
    return Diagnostic{"unknown point", *point_, "no valid configuration of the space has this key",
                      "points.csv lists the keys"};
  }

  static Result<void> add_layers(explore::SweepReport& report, const driver::ExploreModels& models) {
    constexpr std::size_t kMostPoints = 64;  // layers of more points would take too long to compute and to read
    for (std::size_t i = 0; i < std::min(report.front.size(), kMostPoints); ++i) {
      const explore::PointRecord& point = report.points[report.front[i]];
      const explore::Evaluator& evaluator = models.of(point);
      DOVETAIL_ASSIGN(const isa::Machine machine, report.machine_of(point));
      DOVETAIL_ASSIGN(const explore::Programs programs, evaluator.compile(machine));
      auto& of_models = report.layers.emplace_back();
      for (std::size_t m = 0; m < evaluator.workload().models().size(); ++m) {
        DOVETAIL_ASSIGN(auto layers, evaluator.layers(programs, m, machine.system));
        of_models.push_back(std::move(layers));
      }
    }
    return {};
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
    if (const std::string layers = report.layers_csv(); !layers.empty())
      DOVETAIL_TRY(write_text_file(folder / "layers.csv", layers));
    DOVETAIL_TRY(write_text_file(folder / "front.json", driver::json_text(front)));
    DOVETAIL_ASSIGN(const std::string page, explore::sweep_page(report.json(), "the sweep"));
    DOVETAIL_TRY(write_text_file(folder / "report.html", page));
    if (!plots_) return {};
    for (const auto& [name, text] : explore::sweep_plots(report.json()))
      DOVETAIL_TRY(write_text_file(fs::path(*plots_) / name, text));
    return {};
  }

  std::vector<std::string> files_, confirm_;
  std::optional<std::string> folder_, weights_, points_, jobs_, energy_, technology_, point_, what_if_, plots_;
  std::string space_path_, strategy_ = "exhaustive", batch_ = "64", seed_ = "1", confirm_most_ = "4";
  bool no_prune_ = false, no_check_ = false, layers_ = false, json_ = false;
  NumericArguments numeric_;
  BoardArguments board_;
  std::shared_ptr<const CommandWords> words_;
  SourceArguments source_;
  std::vector<driver::ModelSource> sources_;
  explore::SweepOptions options_;
  std::vector<double> model_weights_;
  std::int64_t most_confirmed_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_explore() { return std::make_unique<Explore>(); }

}  // namespace dovetail::cli
