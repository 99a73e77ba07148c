#include <string>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/commands/kernel/actions.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "driver/loop_counts.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

// A run, and what it is compared with.
struct CheckedRun {
  std::string target;
  driver::LoopRunner::Ran ran;
  double operations = 0;  // of the program without its schedule
  std::string wrong = {};
};

Json ran_json(const KernelArguments& arguments, const CheckedRun& run) {
  Json outputs = Json::object();
  for (const auto& [name, array] : run.ran.outputs)
    outputs[name] = {{"dtype", std::string(dovetail::name(array.dtype()))}, {"shape", array.shape()}};
  Json json{{"target", run.target}, {"seconds", run.ran.seconds}, {"operations", run.operations},
            {"outputs", outputs},   {"checked", arguments.check}, {"agrees", run.wrong.empty()}};
  if (run.ran.cycles) json["cycles"] = *run.ran.cycles;
  return json;
}

std::string speed_text(const std::string& engine, const CheckedRun& run) {
  const driver::LoopRunner::Ran& ran = run.ran;
  if (ran.cycles)
    return entry("cycles", fmt::format("{} with engine {}: {:.1f} operations a cycle", with_separators(*ran.cycles),
                                       engine, run.operations / static_cast<double>(*ran.cycles)));
  if (run.target == "accel")
    return entry("simulated", fmt::format("in {} by engine {}, which has no clock; --engine cycle counts cycles",
                                          driver::seconds_text(ran.seconds), engine));
  return entry("time", fmt::format("{}{} on {}; one run, the first", driver::seconds_text(ran.seconds),
                                   driver::rate_text(run.operations, ran.seconds), run.target));
}

}  // namespace

Result<Exit> kernel_run(const KernelArguments& arguments) {
  DOVETAIL_ASSIGN(const std::string target, arguments.target(driver::kInterpreterTarget));
  DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(arguments.limit.limits));
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled(target));
  DOVETAIL_ASSIGN(const driver::RunInputs inputs, arguments.run_inputs(program));
  WatchedWork watched(limit);
  DOVETAIL_ASSIGN(const driver::RunnerOptions options, arguments.runner(watched.work()));
  DOVETAIL_ASSIGN(driver::LoopRunner runner, driver::LoopRunner::make(program, target, options));
  watched.begin();
  CheckedRun run{target, {}, driver::known_operations(program.written())};
  DOVETAIL_ASSIGN(run.ran, runner.run(inputs.tensors));
  if (arguments.check) {
    DOVETAIL_ASSIGN(const auto right, program.unscheduled().run(inputs.tensors, watched.work()));
    run.wrong = driver::find_wrong_value({right.begin(), right.end()}, run.ran.outputs);
  }
  watched.finish();
  if (arguments.output_dir) {
    DOVETAIL_TRY(driver::make_result_folder("--output-dir", *arguments.output_dir));
    DOVETAIL_TRY(driver::write_outputs(*arguments.output_dir, run.ran.outputs));
  }
  if (arguments.json) {
    Json json = arguments.report(program);
    json["run"] = ran_json(arguments, run);
    print_json(json);
  } else {
    for (const std::string& input : inputs.announcements) print("input         {}\n", input);
    for (const auto& [name, array] : run.ran.outputs)
      print("output        {}: {}: {}\n", name, driver::type_text(array.dtype(), array.shape()), preview(array));
    print("{}", speed_text(options.engine, run));
    if (arguments.check && run.wrong.empty())
      print("{}", entry("check", "the values of the program without its schedule"));
  }
  if (run.wrong.empty()) return Exit::success;
  return fail(Exit::failed, {{"the schedule changes the values", arguments.file, run.wrong,
                              "find the step with --explain", Cause::work}});
}

}  // namespace dovetail::cli
