#include "cli/shell/tune_progress.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/commands/kernel/actions.h"
#include "cli/report/kernel_report.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "driver/kernels/tune.h"
#include "driver/loop_counts.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

std::string tuned_cost(const tune::TaskResult& result, double cost, double operations) {
  if (result.unit == "cycles") return fmt::format("{} cycles", with_separators(static_cast<std::uint64_t>(cost)));
  return driver::seconds_text(cost * 1e-9) + driver::rate_text(operations, cost * 1e-9);
}

std::string decisions_text(const schedule::Decisions& decisions) {
  std::string text;
  for (const auto& [name, value] : decisions) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

void print_tuning(const driver::TunedLoops& tuned, const std::string& target, double operations) {
  const tune::TaskResult& result = tuned.result;
  print("{}", entry("tuned", fmt::format("{} on {}: {}", result.name, target, tuned.space)));
  print("{}", entry("trials", fmt::format("{} measured, {} illegal; ended by: {}", result.trials.size(), tuned.illegal,
                                          result.ended)));
  for (const tune::Trial& trial : result.trials)
    if (trial.outcome == tune::Outcome::wrong)
      print("{}", entry("wrong", fmt::format("{}: {}", trial.decisions, trial.why)));
  print("{}", entry("first", fmt::format("{}: {}", tuned_cost(result, result.default_cost, operations),
                                         decisions_text(result.default_decisions))));
  print("{}", entry("best", fmt::format("{}: {}", tuned_cost(result, result.best_cost, operations),
                                        decisions_text(result.best_decisions))));
  print("{}", entry("gain", fmt::format("{:.2f}", result.gain())));
}

}  // namespace

Result<Exit> kernel_tune(const KernelArguments& arguments) {
  DOVETAIL_ASSIGN(driver::TuneLoopsOptions options, [&]() -> Result<driver::TuneLoopsOptions> {
    driver::TuneLoopsOptions made;
    DOVETAIL_ASSIGN(made.target, arguments.target("cpu"));
    DOVETAIL_ASSIGN(made.threads, arguments.thread_count(1));
    DOVETAIL_ASSIGN(made.trials, parse_count("--trials", arguments.trials.value_or("64"), 1, 1'000'000));
    made.search = arguments.search.value_or("guided");
    return made;
  }());
  if (options.target != "cpu" && options.target != "accel")
    return bad_kernel_usage("--target", fmt::format("{} has no schedules to tune", options.target),
                            "give cpu or accel");
  DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(arguments.limit.limits));
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.program());
  DOVETAIL_ASSIGN(const auto steps, arguments.steps(options.target));
  if (arguments.output) DOVETAIL_TRY(check_folder_of("-o", *arguments.output));
  DOVETAIL_ASSIGN(const driver::RunInputs inputs, arguments.run_inputs(program));
  WatchedWork watched(limit);
  watched.when_stopped("the best schedule so far counts");
  watched.ends_itself();
  TuneProgress progress;
  options.work = watched.work();
  options.on_progress = [&](const tune::Progress& now) { progress.show(options.target, now); };
  watched.begin();
  const auto tuned = driver::tune_loops(program, steps, inputs.tensors, options);
  progress.end();
  watched.finish();
  if (!tuned.ok()) return tuned.errors();
  if (arguments.output) DOVETAIL_TRY(write_result_text(*arguments.output, tuned->schedule));
  const double operations = driver::known_operations(program.written());
  if (arguments.json) {
    DOVETAIL_ASSIGN(const driver::LoopProgram best, [&]() -> Result<driver::LoopProgram> {
      driver::LoopProgram scheduled = program;
      DOVETAIL_TRY(scheduled.apply(tuned->schedule));
      return scheduled;
    }());
    Json json = arguments.report(best);
    json["tuning"] = kernel_tuning_json(*tuned, options.target, operations);
    print_json(json);
    return Exit::success;
  }
  print_tuning(*tuned, options.target, operations);
  if (arguments.output) print("{}", entry("next", fmt::format("`--schedule {}` uses it", *arguments.output)));
  else print("\n{}", tuned->schedule);
  return Exit::success;
}

}  // namespace dovetail::cli
