// Tuning, exploring, area.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "capi/arguments.h"
#include "capi/compiler/model.h"
#include "capi/include/dovetail.h"
#include "capi/names.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "cli/report/tune_report.h"
#include "compiler/tune/rankings.h"
#include "compiler/tune/records.h"
#include "compiler/tune/search.h"
#include "compiler/tune/tune.h"
#include "driver/compile_model.h"
#include "driver/explore_models.h"
#include "driver/hardware_area.h"
#include "driver/tensor_files.h"
#include "driver/tuning.h"
#include "explore/area/area_model.h"
#include "explore/sweep/report.h"
#include "explore/sweep/sweep.h"
#include "explore/sweep/what_if.h"
#include "explore/technology/tables.h"
#include "isa/config.h"

namespace dovetail::capi {

namespace {

using Tasks = std::map<std::string, std::vector<tune::TuningTask>>;  // by target

// The tasks of a model, found by compiling it without generating machine code: the compiler looks up the record of
// every task. Equal kernels are one task.
Result<Tasks> tasks_of(const driver::ModelOptions& options, const Callbacks& callbacks) {
  std::map<std::string, std::pair<schedule::Task, schedule::Sketch>> asked;
  CompileOptions compile;
  compile.recorded = [&](const schedule::Task& task, const schedule::Sketch& sketch) {
    asked.try_emplace(schedule::key(task), task, sketch);
    return schedule::Recorded{};
  };
  compile.machine_code = false;
  compile.progress = callbacks.report_progress();
  DOVETAIL_ASSIGN(const driver::CompiledModel model, driver::compile_model(options, std::move(compile)));
  Tasks tasks;
  std::map<std::string, std::pair<std::string, std::size_t>> known;  // by key: target, position
  for (const ScheduleReport& row : model.compiled.schedules) {
    if (std::ranges::find(model.targets, row.target) == model.targets.end()) continue;
    auto& of_target = tasks[std::string(row.target)];
    const auto [at, added] = known.try_emplace(row.origin.key, row.target, of_target.size());
    if (!added) {
      ++of_target[at->second.second].uses;
      continue;
    }
    const auto& [task, sketch] = asked.at(row.origin.key);
    of_target.push_back({task, sketch, row.name, 1});
  }
  if (tasks.empty())
    return Diagnostic{"nothing to tune", options.path, "no kernel of the model has a schedule with choices",
                      "dvt_compile reports how each node is compiled"};
  return tasks;
}

Result<tune::TuneOptions> tune_options_of(const dvt_tune_options& given) {
  tune::TuneOptions options;
  DOVETAIL_TRY(check_value(given.trials, 0, 1'000'000, "dvt_tune: options, trials"));
  DOVETAIL_TRY(check_value(given.early_stop, -1, 1'000'000, "dvt_tune: options, early_stop"));
  DOVETAIL_TRY(check_value(given.batch, 0, 1024, "dvt_tune: options, batch"));
  if (given.trials > 0) options.trials = given.trials;
  if (given.early_stop != 0) options.early_stop = std::max<std::int64_t>(given.early_stop, 0);
  if (given.batch > 0) options.batch = given.batch;
  if (given.seed != 0) options.seed = given.seed;
  if (given.seconds > 0) options.seconds = given.seconds;
  options.search = text_or(given.search, options.search);
  DOVETAIL_TRY(tune::find_search(options.search));
  return options;
}

Result<void> tune(const Model& model, CompileSettings settings, const dvt_tune_options& given, char** json) {
  DOVETAIL_TRY(require(given.records, "dvt_tune: options, records"));
  DOVETAIL_ASSIGN(tune::TuneOptions options, tune_options_of(given));
  const Callbacks& callbacks = settings.callbacks;
  if (settings.model.threads == 0) settings.model.threads = 1;
  DOVETAIL_ASSIGN(const isa::Machine machine, driver::machine_of(settings.model));
  DOVETAIL_ASSIGN(const driver::System system, driver::system_of(settings.model));
  auto narrowed = driver::narrowed_to_here(settings.model, settings.model.targets);
  if (!narrowed.ok()) return failed_work(narrowed.errors());
  settings.model = *std::move(narrowed);
  DOVETAIL_ASSIGN(const Tasks tasks, tasks_of(settings.model, callbacks));
  DOVETAIL_ASSIGN(tune::Records records, tune::Records::open(given.records, tune::Records::Open::write));
  const tune::ChosenRanking ranking = tune::make_ranking();
  if (!ranking.why.empty()) callbacks.log(DVT_LOG_NOTE, ranking.why);
  Work work;
  options.work = &work;
  options.records = &records;
  options.ranking = ranking.ranking.get();
  options.on_progress = [&](const tune::Progress& now) { callbacks.progress("trials", now.trials, now.most_trials); };
  cli::TuneReport report{model.name, given.records, options.search, std::string(ranking.ranking->name()), {}};
  const Watched watched(callbacks.without_progress(), &work, "tuning");
  for (const auto& [target, of_target] : tasks) {
    DOVETAIL_ASSIGN(options.measurer,
                    driver::measurer_of(target, settings.model, {machine.hardware, system.memory, &work}));
    auto results = tune::tune(of_target, options);
    if (!results.ok()) return failed_work(results.errors());
    for (tune::TaskResult& result : *results) report.tasks.push_back(std::move(result));
  }
  give_json(json, report.json());
  return {};
}

// Everything that the points of a sweep depend on. Evaluators keep references to it.
struct Sweep {
  explore::AreaModel area;
  explore::EnergyTable energy;
  explore::Space space;
  bool technology = false;  // of an example or a file
  std::unique_ptr<driver::ExploreModels> models = {};

  // The same identity as that of `dovetail explore`, so that each can continue the other's sweep.
  Json identity() const {
    Hash text;
    text.add(space.text());
    Json identity{{"models", models->key()},
                  {"space", text.text()},
                  {"energy", energy.key()},
                  {"kit", dvt_kit_version()},
                  {"metrics", explore::metric_keys()},
                  {"area", area.key()}};
    return identity;
  }
};

Result<explore::SweepOptions> sweep_options_of(const dvt_explore_options& given) {
  explore::SweepOptions options;
  options.strategy = text_or(given.strategy, options.strategy);
  DOVETAIL_TRY(explore::find_strategy(options.strategy));
  DOVETAIL_TRY(check_value(given.jobs, 0, 1024, "dvt_explore: options, jobs"));
  options.points = given.points == 0 && options.strategy != "exhaustive" ? 200 : given.points;
  if (given.seed != 0) options.seed = given.seed;
  if (given.batch != 0) options.batch = given.batch;
  options.jobs = given.jobs;
  options.prune = given.no_prune == 0;
  options.measure = {.check = given.no_check == 0, .layers = given.layers != 0};
  return options;
}

Result<driver::NumericSamples> numeric_samples_of(const dvt_explore_options& given, std::size_t models) {
  driver::NumericSamples numeric;
  if (given.samples == nullptr) return numeric;
  for (std::size_t i = 0; i < models; ++i) {
    const dvt_model_samples& each = given.samples[i];
    const auto argument = [&](std::string_view member) {
      return fmt::format("dvt_explore: options, samples[{}].{}", i, member);
    };
    DOVETAIL_ASSIGN(auto samples, arrays_of(each.samples, each.sample_count, argument("samples")));
    DOVETAIL_ASSIGN(auto tests, arrays_of(each.tests, each.test_count, argument("tests")));
    numeric.samples.emplace_back(std::move(samples));
    if (!tests.empty()) numeric.tests.emplace_back(std::move(tests));
    if (each.labels != nullptr) {
      DOVETAIL_ASSIGN(const View view, view_of(each.labels, argument("labels")));
      numeric.labels.push_back(view.copy());
    }
  }
  for (const auto& [count, member] :
       {std::pair(numeric.tests.size(), "tests"), std::pair(numeric.labels.size(), "labels")})
    if (count != 0 && count != models)
      return bad_argument("dvt_explore: options, samples", fmt::format("{} of {} have {}", count, models, member),
                          "give them for all models or for none");
  return numeric;
}

// `weights` may be null; `argument`: their name. Precondition: check_models().
Result<std::vector<explore::ModelFile>> model_files_of(const dvt_model* const* models, std::size_t count,
                                                       const double* weights, std::string_view argument) {
  std::vector<explore::ModelFile> files;
  for (std::size_t i = 0; i < count; ++i) {
    const Model& model = models[i]->model;
    const double weight = weights == nullptr ? 1 : weights[i];
    if (!(weight > 0 && weight <= 1e9))
      return bad_argument(fmt::format("{}[{}]", argument, i), fmt::format("it is {}, outside 0 to 1e9", weight),
                          "give a weight above 0");
    files.push_back({model.name, weight});
    if (model.memory) {
      DOVETAIL_ASSIGN(files.back().content, model.memory->read());
    }
  }
  return files;
}

Result<Json> what_if(const std::vector<explore::ModelFile>& files, const char* hardware, const Callbacks& callbacks) {
  DOVETAIL_ASSIGN(const explore::AreaModel area, explore::AreaModel::of_kit());
  DOVETAIL_ASSIGN(const explore::EnergyTable energy, explore::default_energy_table());
  DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_uniform_machine(hardware, "dvt_what_if"));
  DOVETAIL_ASSIGN(const explore::Workload workload, explore::Workload::make(files));
  DOVETAIL_ASSIGN(const explore::Evaluator evaluator, explore::Evaluator::make(workload, area, energy, machine));
  Work work;
  const Watched watched(callbacks, &work, "what if");
  const auto table = explore::what_if(evaluator, machine, 0, &work);
  if (!table.ok()) return failed_work(table.errors());
  return to_json(*table);
}

Result<void> explore_space(const std::vector<explore::ModelFile>& files, const std::string& space_text,
                           const dvt_explore_options& given, const Callbacks& callbacks, char** json) {
  DOVETAIL_ASSIGN(explore::SweepOptions options, sweep_options_of(given));
  const auto given_text = [](const char* text) {
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
  DOVETAIL_ASSIGN(explore::AreaModel area, explore::choose_area(given_text(given.technology)));
  DOVETAIL_ASSIGN(explore::EnergyTable energy, explore::choose_energy(given_text(given.energy)));
  const std::string where = given_text(given.space_file).value_or("space");
  DOVETAIL_ASSIGN(const Json space_json, parse_json(space_text, where));
  DOVETAIL_ASSIGN(explore::Space space, explore::Space::parse(space_json, where));
  DOVETAIL_ASSIGN(const driver::NumericSamples numeric, numeric_samples_of(given, files.size()));
  if (space.has_numerics() != (given.samples != nullptr))
    return bad_argument("dvt_explore: options, samples",
                        space.has_numerics() ? "it is null, and the space has numeric choices"
                                             : "the space has no numeric choices: the models are used as they are",
                        space.has_numerics() ? "give samples of each model, which calibrate it" : "leave it out");
  Sweep sweep{std::move(area), std::move(energy), std::move(space), given.technology != nullptr};
  DOVETAIL_ASSIGN(sweep.models, driver::ExploreModels::make(
                                    sweep.space, files, numeric, sweep.area, sweep.energy,
                                    [&](std::string_view step) { callbacks.log(DVT_LOG_NOTE, std::string(step)); }));
  DOVETAIL_TRY(driver::make_result_folder("`folder`", given.folder));
  DOVETAIL_ASSIGN(
      explore::PointsFile points,
      explore::PointsFile::open(std::filesystem::path(given.folder) / "points.db", sweep.identity(), &sweep.space));
  Work work;
  options.work = &work;
  options.on_progress = [&](const explore::SweepProgress& now) {
    callbacks.progress("points", static_cast<std::int64_t>(now.done), static_cast<std::int64_t>(now.planned));
  };
  if (given.point != nullptr)
    options.on_point = [&](const explore::PointRecord& point, bool known) {
      callbacks.call(
          [&](void* user) { given.point(user, with_named_hints(to_json(point)).dump().c_str(), known ? 1 : 0); });
    };
  const auto start = std::chrono::steady_clock::now();
  const auto swept = [&] {
    const Watched watched(callbacks.without_progress(), &work, "exploring");
    return explore::sweep(
        sweep.space, [&](const explore::Genes& genes) -> const explore::Evaluator& { return sweep.models->of(genes); },
        points, options);
  }();
  if (!swept.ok()) {
    Diagnostics errors = failed_work(swept.errors());
    if (work.stopped()) errors.front().hint = "finished points are saved; the same call continues the sweep";
    return errors;
  }
  explore::SweepReport report;
  for (const explore::ModelFile& file : files) report.models.push_back(file.path);
  for (const explore::Workload::Model& model : sweep.models->models()) report.names.push_back(model.name);
  report.accuracy = sweep.models->accuracy();
  DOVETAIL_ASSIGN(report.quantized, sweep.models->write((std::filesystem::path(given.folder) / "models").string()));
  report.space_path = "space";
  report.strategy = options.strategy;
  report.space = &sweep.space;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.finished = swept->done - swept->known;
  report.area = &sweep.area;
  if (given.energy != nullptr) report.energy_file = given.energy;
  if (given.technology != nullptr) report.technology_file = given.technology;
  report.energy = sweep.energy.statement();
  report.mixed = explore::mixed_technologies(sweep.area.technology(), sweep.energy);
  DOVETAIL_ASSIGN(report.points, points.all());
  report.name_machines();
  report.unknown_energies = report.find_unknown_energies(sweep.energy);
  report.front = explore::front_of(report.points, sweep.space.objectives());
  give_json(json, report.json());
  return {};
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_tune(const dvt_model* model, const dvt_compile_options* compile, const dvt_tune_options* options,
                     char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(model, "dvt_tune: model"));
    DOVETAIL_ASSIGN(const dvt_tune_options given, options_of(options, "dvt_tune: options"));
    DOVETAIL_ASSIGN(CompileSettings settings, compile_settings_of(model->model, compile, "dvt_tune: compile"));
    const auto done = capi::tune(model->model, std::move(settings), given, json);
    return done.ok() ? done : model->model.named(done.errors());
  });
}

dvt_status* dvt_explore(const dvt_model* const* models, size_t count, const char* space,
                        const dvt_explore_options* options, char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(check_models(models, count, "dvt_explore"));
    DOVETAIL_TRY(require(space, "dvt_explore: space"));
    DOVETAIL_ASSIGN(const dvt_explore_options given,
                    options_of(options, "dvt_explore: options", offsetof(dvt_explore_options, energy)));
    DOVETAIL_TRY(require(given.folder, "dvt_explore: options, folder"));
    DOVETAIL_ASSIGN(const Callbacks callbacks, Callbacks::of(given.callbacks, "dvt_explore: options, callbacks"));
    DOVETAIL_ASSIGN(const auto files, model_files_of(models, count, given.weights, "dvt_explore: options, weights"));
    return explore_space(files, space, given, callbacks, json);
  });
}

dvt_status* dvt_what_if(const dvt_model* const* models, size_t count, const double* weights, const char* hardware,
                        const dvt_callbacks* callbacks, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_what_if: json"));
    *json = nullptr;
    DOVETAIL_TRY(check_models(models, count, "dvt_what_if"));
    DOVETAIL_TRY(require(hardware, "dvt_what_if: hardware"));
    DOVETAIL_ASSIGN(const auto files, model_files_of(models, count, weights, "dvt_what_if: weights"));
    DOVETAIL_ASSIGN(const Callbacks own, Callbacks::of(callbacks, "dvt_what_if: callbacks"));
    DOVETAIL_ASSIGN(const Json table, capi::what_if(files, hardware, own));
    *json = owned_json(table);
    return {};
  });
}

dvt_status* dvt_area_in(const char* hardware, const char* technology, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_area_in: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(hardware, "dvt_area_in: hardware"));
    DOVETAIL_TRY(require(technology, "dvt_area_in: technology"));
    DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_machine(hardware));
    DOVETAIL_ASSIGN(const explore::AreaModel model, explore::choose_area(std::string(technology)));
    *json = owned_json(model.report(machine));
    return {};
  });
}

dvt_status* dvt_area(const char* hardware, const char* flow, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_area: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(hardware, "dvt_area: hardware"));
    DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_machine(hardware));
    const isa::HardwareConfig& config = machine.hardware;
    if (flow == nullptr) {
      DOVETAIL_ASSIGN(const explore::AreaModel model, explore::AreaModel::of_kit());
      *json = owned_json(model.report(machine));
      return {};
    }
    for (const explore::FpgaFamily& family : explore::kFpgaFamilies)
      if (flow == fmt::format("{}:estimate", family.flow)) {
        DOVETAIL_ASSIGN(const explore::FpgaModel model, explore::FpgaModel::of_kit(family));
        *json = owned_json(model.report(machine));
        return {};
      }
    DOVETAIL_TRY(isa::check_uniform(machine, "a run of Yosys"));
    if (std::ranges::none_of(driver::kAreaFlows, [&](const driver::AreaFlow& each) { return each.name == flow; }))
      return bad_argument("dvt_area: flow", fmt::format("{} is unknown", flow),
                          "give null, generic, xc7, xcup, xc7:estimate or xcup:estimate");
    DOVETAIL_ASSIGN(const auto known, driver::committed_area(config, flow));
    if (known && known->fresh) {
      *json = owned_json(driver::area_to_json(known->area));
      return {};
    }
    DOVETAIL_ASSIGN(const driver::Area area, driver::run_area(config, flow));
    *json = owned_json(driver::area_to_json(area));
    return {};
  });
}

}  // extern "C"
