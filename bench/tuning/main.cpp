// The searches of the tuner, compared by replay (docs/explanation/tuning-search.md).
//
//   search_replay tables [FILTER] [--most N]           measures N candidates of each task (4096) into
//   bench/tuning/tables,
//                                                      then measures the best of each CPU task again
//   search_replay again [FILTER]                       only the second step, on a quiet machine
//   search_replay replay [FILTER] [--seeds N] [--trials N] [--search NAME] [--json CURVES.json] [--svg PLOT.svg]
//
// FILTER: a prefix of the tasks' names, for example accel.conv. Run in the root of the tree.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/thread_pool.h"
#include "bench/tuning/comparison.h"
#include "bench/tuning/plot.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/tune/rankings.h"
#include "compiler/tune/search.h"
#include "explore/measure/accel.h"
#include "explore/measure/cpu.h"
#include "explore/replay/make_table.h"
#include "explore/replay/tasks.h"

namespace dovetail::bench {

namespace {

struct Settings {
  std::string action, filter, json, svg, search;
  std::size_t seeds = 10, trials = 512, most = 4096;

  std::vector<const explore::ReplayTask*> tasks(std::string_view target = "") const {
    std::vector<const explore::ReplayTask*> chosen;
    for (const explore::ReplayTask& row : explore::replay_tasks())
      if (row.name.starts_with(filter) && (target.empty() || row.target == target)) chosen.push_back(&row);
    return chosen;
  }
};

std::filesystem::path table_path(const explore::ReplayTask& row) {
  return std::filesystem::path("bench/tuning/tables") / fmt::format("{}.txt", row.name);
}

// ---- tables

Result<std::unique_ptr<tune::Measurer>> measurer_of(const explore::ReplayTask& row, const schedule::Task& task,
                                                    double seconds) {
  if (bundle::has_clock(row.target)) {
    DOVETAIL_ASSIGN(const isa::HardwareConfig hardware, isa::load_config(explore::kReplayHardware));
    return explore::make_accel_measurer(hardware, {})(task);
  }
  DOVETAIL_ASSIGN(const cpu::Cpu processor, cpu::find_cpu(explore::kReplayProcessor));
  explore::CpuMeasureOptions options;
  options.timing_seconds = seconds;
  return explore::make_cpu_measurer(processor, options)(task);
}

constexpr double kQuickly = 0.03;   // thousands of candidates, each compared with the default
constexpr double kCarefully = 0.1;  // the best of them

Result<void> measure_again(const explore::ReplayTask& row) {
  const auto start = std::chrono::steady_clock::now();
  const std::string path = table_path(row).string();
  DOVETAIL_ASSIGN(const std::string text, read_text_file(path));
  DOVETAIL_ASSIGN(explore::Table table, explore::parse_table(text, path));
  DOVETAIL_ASSIGN(const explore::FoundTask found, explore::find_task(row));
  DOVETAIL_ASSIGN(const std::unique_ptr<tune::Measurer> measurer, measurer_of(row, found.task, kCarefully));
  std::size_t count = 0;
  DOVETAIL_TRY(explore::measure_best_again(
      found.task, found.sketch, *measurer, table, 128, 3,
      [&](std::size_t measured) { fmt::print(stderr, "\r{}: {} candidates again", row.name, count = measured); }));
  DOVETAIL_TRY(write_text_file(path, explore::to_string(table)));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(stderr, "\r{}: {} candidates again, {:.0f} s\n", row.name, count, seconds);
  return {};
}

Result<void> measure_table(const explore::ReplayTask& row, std::size_t most) {
  const auto start = std::chrono::steady_clock::now();
  DOVETAIL_ASSIGN(const explore::FoundTask found, explore::find_task(row));
  DOVETAIL_ASSIGN(const std::unique_ptr<tune::Measurer> measurer, measurer_of(row, found.task, kQuickly));
  explore::TableOptions options;
  options.most = most;
  options.on_progress = [&](std::size_t measured) { fmt::print(stderr, "\r{}: {} candidates", row.name, measured); };
  DOVETAIL_ASSIGN(explore::Table table, explore::make_table(found.task, found.sketch, *measurer, options));
  table.name = row.name;
  DOVETAIL_TRY(write_text_file(table_path(row), explore::to_string(table)));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto failed = std::ranges::count_if(
      table.rows, [](const explore::TableRow& candidate) { return candidate.outcome != tune::Outcome::measured; });
  fmt::print(stderr, "\r{}: {} candidates, {}, {} of them not measured, {:.0f} s\n", row.name, table.rows.size(),
             table.whole ? "all candidates" : "a sample", failed, seconds);
  return {};
}

// ---- replay

// A task with its table. The space refers to the other members.
struct Loaded {
  explore::FoundTask found;
  explore::Table table;
  std::optional<explore::TableSpace> space;
};

Result<std::unique_ptr<Loaded>> load(const explore::ReplayTask& row) {
  const std::string path = table_path(row).string();
  DOVETAIL_ASSIGN(const std::string text, read_text_file(path));
  auto loaded = std::make_unique<Loaded>();
  DOVETAIL_ASSIGN(loaded->table, explore::parse_table(text, path));
  DOVETAIL_ASSIGN(loaded->found, explore::find_task(row));
  DOVETAIL_ASSIGN(loaded->space, explore::TableSpace::make(loaded->found.task, loaded->found.sketch, loaded->table));
  return loaded;
}

// The compared searches: each one, and guided search whose ranking has learned the target's other tasks.
struct Contender {
  std::string name;
  const tune::SearchRow* search = nullptr;
  bool knows_others = false;
};

std::vector<Contender> contenders(const Settings& settings) {
  std::vector<Contender> all;
  for (const tune::SearchRow& search : tune::searches()) all.push_back({std::string(search.name), &search, false});
  all.push_back(
      {"guided, others known", &*std::ranges::find(tune::searches(), "guided", &tune::SearchRow::name), true});
  // The table compares with random search, and has a column for guided search.
  if (!settings.search.empty())
    std::erase_if(all, [&](const Contender& each) {
      return each.name != "random" && each.name != "guided" && each.name != settings.search;
    });
  return all;
}

// Like `tune`, which learns from the records of related tasks: the same number of rows from each table, evenly spaced.
void learn_others(const std::vector<std::unique_ptr<Loaded>>& tasks, const Loaded& own, tune::Ranking& ranking) {
  constexpr std::size_t kRowsOfEach = 200;  // below the capacity of a ranking, with five tasks
  for (const auto& other : tasks) {
    if (!other || other.get() == &own) continue;
    const auto candidates = other->space->candidates();
    const std::size_t count = std::min(kRowsOfEach, candidates.size());
    for (std::size_t i = 0; i < count; ++i) {
      const tune::Candidate& candidate = candidates[i * candidates.size() / count];
      ranking.add(candidate.features, other->space->cost(candidate) / other->table.rows.front().cost);
    }
  }
}

explore::TaskCurves curves_of(const std::vector<std::unique_ptr<Loaded>>& tasks, Loaded& task, const Settings& settings,
                              std::size_t batch) {
  explore::TaskCurves curves;
  curves.name = task.table.name;
  curves.default_cost = task.table.rows.front().cost;
  curves.best_cost = std::ranges::min_element(task.table.rows, {}, &explore::TableRow::cost)->cost;
  curves.candidates = task.table.rows.size();
  curves.whole = task.table.whole;
  for (const Contender& contender : contenders(settings)) {
    std::vector<explore::Curve>& seeds = curves.searches.emplace_back();
    for (std::uint64_t seed = 1; seed <= settings.seeds; ++seed) {
      const auto ranking = tune::make_ranking().ranking;
      if (contender.knows_others) learn_others(tasks, task, *ranking);
      seeds.push_back(explore::replay(*task.space, *contender.search, *ranking, seed, settings.trials, batch));
    }
  }
  fmt::print(stderr, "{}: replayed\n", curves.name);
  return curves;
}

// Tasks that cannot be replayed are skipped and reported: `failed`.
TargetComparison compare(std::string_view target, std::string title, const Settings& settings, std::size_t batch,
                         bool& failed) {
  const auto rows = settings.tasks(target);
  std::vector<std::unique_ptr<Loaded>> tasks(rows.size());
  std::vector<explore::TaskCurves> curves(rows.size());
  std::vector<std::string> problems(rows.size());
  ThreadPool pool(available_processors(), ThreadPool::Placement::free);
  const auto each = [&](const auto& body) {
    pool.parallel_for(static_cast<std::int64_t>(rows.size()), [&](std::int64_t begin, std::int64_t end, int) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) body(i);
    });
  };
  each([&](std::size_t i) {
    auto loaded = load(*rows[i]);
    if (loaded.ok()) tasks[i] = *std::move(loaded);
    else problems[i] = to_string(loaded.errors());
  });
  each([&](std::size_t i) {
    if (tasks[i]) curves[i] = curves_of(tasks, *tasks[i], settings, batch);
  });
  TargetComparison comparison{std::move(title), {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (tasks[i]) comparison.tasks.push_back(std::move(curves[i]));
    else fmt::print(stderr, "{}\n", problems[i]), failed = true;
  }
  return comparison;
}

Result<void> replay(const Settings& settings) {
  bool failed = false;
  Comparison comparison;
  for (const Contender& contender : contenders(settings)) comparison.searches.push_back(contender.name);
  comparison.seeds = settings.seeds;
  comparison.trials = settings.trials;
  const tune::ChosenRanking ranking = tune::make_ranking();
  comparison.ranking = ranking.ranking->name();
  if (!ranking.why.empty()) fmt::print(stderr, "{}\n", ranking.why);
  const std::pair<std::string_view, std::string> targets[] = {{bundle::kAccelTarget, "accelerator"},
                                                              {bundle::kCpuTarget, "CPU"}};
  for (const auto& [target, title] : targets) {
    if (settings.tasks(target).empty()) continue;
    TargetComparison of_target = compare(target, title, settings, comparison.batch, failed);
    if (!of_target.tasks.empty()) comparison.targets.push_back(std::move(of_target));
  }
  fmt::print("{}", to_string(comparison));
  if (failed)
    return Diagnostic{"not all tasks were compared", "bench/tuning/tables", "see above",
                      "JSON and plot are not written"};
  if (!settings.json.empty()) DOVETAIL_TRY(write_text_file(settings.json, to_json(comparison).dump() + "\n"));
  if (!settings.svg.empty()) DOVETAIL_TRY(write_text_file(settings.svg, svg_of(comparison)));
  return {};
}

// ---- The command line

std::optional<Settings> settings_of(int argc, char** argv) {
  Settings settings;
  if (argc < 2) return std::nullopt;
  settings.action = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      settings.filter = word;
      continue;
    }
    if (++i == argc) return std::nullopt;
    const std::string value = argv[i];
    const std::size_t count = std::max<std::size_t>(1, std::strtoul(value.c_str(), nullptr, 10));
    if (word == "--json") settings.json = value;
    else if (word == "--svg") settings.svg = value;
    else if (word == "--search") settings.search = value;
    else if (word == "--seeds") settings.seeds = count;
    else if (word == "--most") settings.most = count;
    else if (word == "--trials") settings.trials = count;
    else return std::nullopt;
  }
  const bool known = settings.action == "tables" || settings.action == "again" || settings.action == "replay";
  return known && !settings.tasks().empty() ? std::optional(settings) : std::nullopt;
}

Result<void> run(const Settings& settings) {
  if (settings.action == "replay") return replay(settings);
  for (const explore::ReplayTask* row : settings.tasks()) {
    if (settings.action == "tables") DOVETAIL_TRY(measure_table(*row, settings.most));
    if (!bundle::has_clock(row->target)) DOVETAIL_TRY(measure_again(*row));  // cycle counts are deterministic
  }
  return {};
}

}  // namespace

}  // namespace dovetail::bench

int main(int argc, char** argv) {
  using namespace dovetail;
  const auto settings = bench::settings_of(argc, argv);
  if (!settings) {
    fmt::print(stderr,
               "usage: search_replay tables [FILTER] [--most N]\n       search_replay again [FILTER]\n       "
               "search_replay replay [FILTER] [--seeds N] "
               "[--trials N] "
               "[--search NAME] [--json CURVES.json] [--svg PLOT.svg]\n");
    return 2;
  }
  const auto done = bench::run(*settings);
  if (!done.ok()) fmt::print(stderr, "{}\n", to_string(done.errors()));
  return done.ok() ? 0 : 1;
}
