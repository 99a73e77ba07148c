#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/text_table.h"
#include "bundle/code/target_facts.h"
#include "cli/commands/all.h"
#include "cli/report/tune_report.h"
#include "cli/shell/arguments.h"
#include "cli/shell/board_processes.h"
#include "cli/shell/build_facts.h"
#include "cli/shell/output.h"
#include "cli/shell/session_arguments.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/tune_progress.h"
#include "cli/shell/watched_work.h"
#include "compiler/tune/rankings.h"
#include "compiler/tune/search.h"
#include "compiler/tune/tune.h"
#include "driver/compile_model.h"
#include "driver/names.h"
#include "driver/system.h"
#include "driver/targets.h"
#include "driver/tuning.h"
#include "driver/value_text.h"
#include "explore/distribute/mpi.h"
#include "explore/distribute/shared_measurer.h"
#include "explore/measure/accel.h"
#include "explore/replay/tasks.h"

namespace dovetail::cli {

namespace {

class Tune : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx", model_.model,
                       "the model whose kernels are tuned; without a model, --task names built-in tasks (--list)",
                       Need::optional, File::read);
    model_.declare(options);
    options.values("--task", "TASK", only_,
                   "a kernel's name, or the first digits of its key; repeatable (default: all)");
    options.flag("--list", list_, "list the tasks, and do not tune");
    options.value("--trials", "N", trials_, "candidates for each task, on average (default 64)");
    options.value("--early-stop", "N", early_stop_,
                  "stop tuning a kernel without gain in this many trials; 0: never (default 128)");
    options.value("--search", "SEARCH", search_, searches_text()).choices(search_names());
    options.value("--batch", "N", batch_, "candidates measured before the search uses their results (default 8)");
    options.value("--seed", "N", seed_, "seed of the random choices (default 1)");
    options.value("--threads", "N", threads_, "threads that run CPU kernels (default 1)");
    options.value("--time", "TIME", time_, "stop after the batch in which this time ends: 90s, 10min, 2h");
    options.value("--report", "R.json", report_, "write the results as JSON", File::written_text);
    board_.declare(options, true);
    words_ = options.words();
    options.json(json_);
    options.value("--html", "PAGE.html", html_, "write a page with a curve for each task", File::written_text);
    options.footer(
        "Results are recorded in the database after every batch; Ctrl-C loses none of them. `dovetail "
        "compile` and `run` use\n"
        "the best schedules with the same --records. `mpirun -n N dovetail tune ...` measures on the accelerator in N "
        "processes.\n"
        "docs/explanation/tuning-search.md describes the searches and how candidates are measured.\n"
        "Without a model: dovetail tune --task accel.conv3x3 --hw 1x16x16-ext --records tasks.db\n"
        "Example: dovetail tune examples/digits/digits_int8.onnx --target accel --hw 1x16x16-ext --trials 32 --records "
        "digits.db");
  }

  // Cycles are counted by any process; times are those of one machine, which then runs the whole command.
  const BoardArguments* board() const override {
    const std::string targets = model_.targets.value_or("cpu");
    const bool counts_cycles = std::ranges::all_of(std::views::split(targets, ','), [](const auto& target) {
      return bundle::has_clock(std::string_view(target.begin(), target.end()));
    });
    return counts_cycles && !list_ ? nullptr : &board_;
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const std::unique_ptr<explore::Transport> others, other_processes(board_, *words_));
    if (!others || others->rank() == 0) {
      const explore::Dismissal dismissal(others.get());
      return run_with(others.get());
    }
    // A process other than process 0 of mpirun: it measures, and prints nothing.
    const auto served = run_with(others.get());
    if (served.ok()) return *served;
    explore::report_failure(*others, served.errors());
    return Exit::failed;
  }

 private:
  using Tasks = std::map<std::string, std::vector<tune::TuningTask>>;  // by target

  // `others`: null if there is no other process.
  Result<Exit> run_with(explore::Transport* others) {
    DOVETAIL_ASSIGN(const std::int64_t threads, parse_count("--threads", threads_, 1, 1024));
    DOVETAIL_TRY(read_options());
    if (!list_ && !model_.records)
      return Diagnostic{"bad usage of `dovetail tune`", "--records", "no database is given for the results",
                        "add --records FILE.db, which is created if it does not exist; or --list"};
    const std::optional<std::string> records = std::exchange(model_.records, std::nullopt);
    DOVETAIL_ASSIGN(options_, model_.parse());
    options_.threads = static_cast<int>(threads);
    DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(options_));
    DOVETAIL_TRY(isa::check_uniform(machine, "`dovetail tune`"));
    hardware_ = machine.hardware;
    DOVETAIL_ASSIGN(const driver::System system, system_of(options_));
    memory_ = system.memory;
    DOVETAIL_TRY(narrow_to_here());
    if (model_.given()) {
      DOVETAIL_ASSIGN(compiled_, compile_asking());
    }
    DOVETAIL_ASSIGN(const Tasks tasks, !model_.given() ? named_tasks(system.clock_mhz) : chosen_tasks());
    if (others != nullptr && others->rank() > 0) return serve_measurements(tasks, *others);
    if (list_) {
      if (json_) print_json(task_list(tasks));
      else print("{}", task_table(tasks));
      return Exit::success;
    }
    WatchedWork watched({});
    tune_options_.work = watched.work();
    DOVETAIL_ASSIGN(tune::Records database, tune::Records::open(*records, tune::Records::Open::write));
    tune_options_.records = &database;
    const tune::ChosenRanking ranking = tune::make_ranking();
    tune_options_.ranking = ranking.ranking.get();
    if (!ranking.why.empty()) print_message("note          {}\n", ranking.why);
    watched.begin();
    const std::string subject = !model_.given() ? "built-in tasks" : model_.title();
    TuneReport report{subject, *records, tune_options_.search, std::string(ranking.ranking->name()), {}};
    TuneProgress progress;
    std::optional<explore::Farm> farm;
    if (others != nullptr) farm.emplace(others, 1, identity(tasks));
    for (const auto& [target, of_target] : tasks) {
      DOVETAIL_ASSIGN(tune_options_.measurer, measurer_of(target, watched.work(), others != nullptr));
      if (farm && bundle::has_clock(target))
        tune_options_.measurer = explore::share_measurer(tune_options_.measurer, *farm, watched.work());
      else if (farm)
        print_message("note          kernels of target {} are timed by process 0 alone, one at a time\n", target);
      tune_options_.on_progress = [&](const tune::Progress& now) { progress.show(target, now); };
      auto results = tune::tune(of_target, tune_options_);
      progress.end();
      if (!results.ok()) return fail(Exit::failed, results.errors());
      for (tune::TaskResult& result : *results) report.tasks.push_back(std::move(result));
    }
    watched.finish();
    print("{}", report.text());
    if (report_) DOVETAIL_TRY(write_result_text(*report_, report_text(report.json())));
    if (json_) print_json(report.json());
    if (html_) DOVETAIL_TRY(write_result_text(*html_, tune_page(report.json())));
    return Exit::success;
  }

  // Removes tasks that this machine cannot measure, except for --list, which needs no device.
  Result<void> narrow_to_here() {
    const bool has_model = model_.given();
    auto narrowed = driver::narrowed_to_here(options_, has_model ? options_.targets : driver::target_names());
    if (narrowed.ok()) options_ = *std::move(narrowed);
    else if (!list_ && has_model) return failed_work(narrowed.errors());
    return {};
  }

  // Compiles the model. The compiler asks for records of every task that it schedules, which gives the list of tasks.
  Result<driver::CompiledModel> compile_asking() {
    CompileOptions options;
    options.recorded = [this](const schedule::Task& task, const schedule::Sketch& sketch) {
      asked_.try_emplace(schedule::key(task), task, sketch);
      return schedule::Recorded{};
    };
    options.machine_code = false;
    return compile_shown(options_, std::move(options));
  }

  // The built-in tasks that --task names, for the given hardware and processor; all of them with --list and without
  // --task.
  Result<Tasks> named_tasks(double clock_mhz) {
    if (only_.empty() && !list_)
      return Diagnostic{"bad usage of `dovetail tune`", "MODEL.onnx", "there is nothing to tune",
                        "name a model, or a built-in task: `dovetail tune --list` prints them"};
    std::vector<std::string> given = model_.compile_only_options();
    std::erase(given, "--cpu");
    if (!given.empty())
      return Diagnostic{"bad usage of `dovetail tune`", fmt::format("{}", fmt::join(given, ", ")),
                        "the option has no effect on a built-in task", "remove it, or name a model"};
    const std::vector<std::string>& targets = options_.targets;
    std::vector<std::string> names = only_;
    if (names.empty())
      for (const explore::ReplayTask& row : explore::replay_tasks()) names.emplace_back(row.name);
    Tasks tasks;
    for (const std::string& name : names) {
      DOVETAIL_ASSIGN(const explore::ReplayTask* row, explore::find_replay_task(name));
      const std::string target(row->target);
      if (!targets.empty() && std::ranges::find(targets, target) == targets.end()) {
        if (only_.empty()) continue;
        return Diagnostic{"invalid value for --task", name, fmt::format("the task is for target {}", target),
                          fmt::format("remove --target, or add {} to it", target)};
      }
      DOVETAIL_ASSIGN(
          std::vector<TargetPointer> made,
          driver::make_targets({hardware_, clock_mhz, options_.cpu, options_.gpu, options_.tf32}, std::vector{target}));
      const auto of_row = std::ranges::find(made, target, [](const TargetPointer& each) { return each->name(); });
      auto found = explore::find_task(*row, *of_row);
      if (!found.ok() && only_.empty()) continue;  // the hardware does not support the task
      if (!found.ok()) return found.errors();
      tasks[target].push_back({found->task, found->sketch, name, 1});
      named_.push_back(*std::move(found));
    }
    return tasks;
  }

  // The work of the other processes: counts cycles by simulation, which other load on the machine does not change.
  Result<Exit> serve_measurements(const Tasks& tasks, explore::Transport& transport) const {
    if (list_) return Exit::success;
    const auto found = std::ranges::find_if(tasks, [](const auto& row) { return bundle::has_clock(row.first); });
    std::span<const tune::TuningTask> of_target;
    if (found != tasks.end()) of_target = found->second;
    explore::CandidateJobs jobs(of_target, [&](const schedule::Task& task) -> Result<std::unique_ptr<tune::Measurer>> {
      DOVETAIL_ASSIGN(const auto make, measurer_of(found->first, nullptr, true));
      return make(task);
    });
    DOVETAIL_TRY(explore::serve(transport, identity(tasks), [&](std::string_view job) { return jobs.measure(job); }));
    return Exit::success;
  }

  // Identifies everything that measurements depend on.
  std::string identity(const Tasks& tasks) const {
    Hash hash;
    hash.add(build_facts().version);
    hash.add(explore::accel_machine(memory_));
    for (const auto& [target, of_target] : tasks)
      for (const tune::TuningTask& task : of_target) hash.add(schedule::key(task.task));
    return hash.text();
  }

  static std::vector<std::string> search_names() {
    std::vector<std::string> names;
    for (const tune::SearchRow& row : tune::searches()) names.emplace_back(row.name);
    return names;
  }
  static std::string searches_text() {
    std::string text = "how candidates are chosen (default guided)";
    for (const tune::SearchRow& row : tune::searches()) text += fmt::format("\n{}: {}", row.name, row.summary);
    return text;
  }

  Result<void> read_options() {
    DOVETAIL_ASSIGN(tune_options_.trials, parse_count("--trials", trials_, 1, 1'000'000));
    DOVETAIL_ASSIGN(tune_options_.early_stop, parse_count("--early-stop", early_stop_, 0, 1'000'000));
    DOVETAIL_ASSIGN(tune_options_.batch, parse_count("--batch", batch_, 1, 1024));
    DOVETAIL_ASSIGN(tune_options_.seed, parse_address("--seed", seed_));
    if (time_) {
      DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit({*time_}));
      if (!limit.seconds)
        return Diagnostic{"invalid value for --time", *time_, "the value must be a number with a unit",
                          "write for example 90s, 10min or 2h"};
      tune_options_.seconds = limit.seconds;
    }
    DOVETAIL_TRY(tune::find_search(search_));
    tune_options_.search = search_;
    return {};
  }

  // The tasks of the compiled bundle on the requested targets, restricted to those that --task names. Kernels that
  // occur several times in the model are one task.
  Result<Tasks> chosen_tasks() const {
    Tasks tasks;
    std::map<std::string, std::pair<std::string, std::size_t>> known;  // by key: target, position
    std::vector<bool> used(only_.size(), false);
    for (const ScheduleReport& row : compiled_->compiled.schedules) {
      if (std::ranges::find(compiled_->targets, row.target) == compiled_->targets.end()) continue;
      bool chosen = only_.empty();
      for (std::size_t i = 0; i < only_.size(); ++i) {
        const bool named =
            row.name == only_[i] || driver::plain_name(row.name) == only_[i] || row.origin.key.starts_with(only_[i]);
        if (named) chosen = used[i] = true;
      }
      if (!chosen) continue;
      const std::string target(row.target);
      auto& of_target = tasks[target];
      const auto [at, added] = known.try_emplace(row.origin.key, target, of_target.size());
      if (!added) {
        ++of_target[at->second.second].uses;
        continue;
      }
      const auto& [task, sketch] = asked_.at(row.origin.key);
      of_target.push_back({task, sketch, row.name, 1});
    }
    for (std::size_t i = 0; i < only_.size(); ++i)
      if (!used[i])
        return Diagnostic{fmt::format("no task \"{}\"", only_[i]), "--task",
                          "the compiled model has no kernel of this name, and no task whose key begins with it",
                          "--list prints the tasks"};
    if (tasks.empty())
      return Diagnostic{"nothing to tune", model_.title(), "no kernel of the model has a schedule with choices",
                        "`dovetail compile` reports how each node is compiled"};
    return tasks;
  }

  // `shared_machine`: measure one candidate at a time, since other processes measure at the same time.
  Result<tune::MakeMeasurer> measurer_of(const std::string& target, Work* work, bool shared_machine) const {
    return driver::measurer_of(target, options_, {hardware_, memory_, work, shared_machine});
  }

  static Json task_list(const Tasks& tasks) {
    Json list = Json::array();
    for (const auto& [target, of_target] : tasks)
      for (const tune::TuningTask& task : of_target)
        list.push_back({{"task", schedule::key(task.task)},
                        {"target", target},
                        {"kind", task.task.kind},
                        {"kernel", task.name},
                        {"uses", task.uses}});
    return {{"kind", "tasks"}, {"tasks", list}};
  }

  static std::string task_table(const Tasks& tasks) {
    TextTable table({"task", "target", "kind", "kernel", ">uses"});
    for (const auto& [target, of_target] : tasks)
      for (const tune::TuningTask& task : of_target)
        table.add({schedule::key(task.task), target, task.task.kind, task.name, std::to_string(task.uses)});
    return table.to_string();
  }

  BoardArguments board_;
  std::shared_ptr<const CommandWords> words_;
  ModelArguments model_;
  driver::ModelOptions options_;
  std::vector<std::string> only_;
  bool list_ = false, json_ = false;
  std::string trials_ = "64", early_stop_ = "128", search_ = "guided", batch_ = "8", seed_ = "1", threads_ = "1";
  std::optional<std::string> time_, report_, html_;
  tune::TuneOptions tune_options_;
  isa::HardwareConfig hardware_;
  simulator::MemorySpec memory_;
  std::optional<driver::CompiledModel> compiled_;  // outlives the sketches, which refer to its targets
  std::vector<explore::FoundTask> named_;          // outlives the sketches of these tasks, too
  std::map<std::string, std::pair<schedule::Task, schedule::Sketch>> asked_;
};

}  // namespace

std::unique_ptr<Command> make_tune() { return std::make_unique<Tune>(); }

}  // namespace dovetail::cli
