#include "driver/kernels/compare.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/commands/kernel/actions.h"
#include "cli/report/kernel_report.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

Json compared_json(const std::vector<driver::ComparedKernel>& rows, const driver::System& system) {
  Json all = Json::array();
  for (const driver::ComparedKernel& row : rows) {
    Json json{{"target", row.target}, {"steps", row.steps}, {"available", row.available()}};
    if (row.available()) {
      json["profile"] = kernel_profile_json(row.profile, system);
      json["agrees"] = row.wrong.empty();
      if (!row.wrong.empty()) json["wrong"] = row.wrong;
    } else {
      json["why"] = row.unavailable;
      json["hint"] = row.hint;
    }
    all.push_back(std::move(json));
  }
  return all;
}

void print_compared(const std::vector<driver::ComparedKernel>& rows) {
  TextTable table({"target", ">steps", ">time", ">cycles", ">GOP/s", ">of the bound", "values"});
  for (const driver::ComparedKernel& row : rows) {
    const driver::LoopProfile& profile = row.profile;
    if (!row.available()) {
      table.add({row.target, std::to_string(row.steps), "-", "-", "-", "-", "not available"});
      continue;
    }
    const double bound = profile.roofline ? profile.roofline->bound() : 0;
    table.add({row.target, std::to_string(row.steps), driver::seconds_text(profile.seconds.median),
               profile.cycles ? with_separators(*profile.cycles) : "-",
               profile.operations > 0 ? fmt::format("{:.3g}", profile.giga_operations()) : "-",
               bound > 0 ? fmt::format("{:.1f} %", 100 * profile.giga_operations() / bound) : "-",
               row.wrong.empty() ? "the interpreter's" : "wrong"});
  }
  print("{}", table.to_string());
  for (const driver::ComparedKernel& row : rows) {
    if (!row.available()) print("{}", entry(row.target, fmt::format("{}. Hint: {}", row.unavailable, row.hint)));
    if (!row.wrong.empty()) print("{}", entry(row.target, row.wrong));
  }
}

}  // namespace

Result<Exit> kernel_compare(const KernelArguments& arguments) {
  std::vector<std::string> targets = arguments.all_targets();
  if (targets.empty()) targets = {std::string(driver::kInterpreterTarget), "cpu"};
  DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(arguments.limit.limits));
  DOVETAIL_ASSIGN(const driver::LoopProgram written, arguments.program());
  for (const std::string& schedule : arguments.schedules) {
    const std::string target = schedule.substr(0, std::min(schedule.find('='), schedule.size()));
    if (target != schedule && std::ranges::find(targets, target) == targets.end())
      return bad_kernel_usage("--schedule " + schedule, fmt::format("{} is not compared", target),
                              fmt::format("remove it, or add --target {}", target));
  }
  std::vector<driver::TargetKernel> kernels;
  for (const std::string& target : targets) {
    if (std::ranges::count(targets, target) > 1)
      return bad_kernel_usage("--target", fmt::format("{} is listed twice", target), "list each target once");
    KernelArguments one = arguments;
    one.targets = {target};
    DOVETAIL_TRY(one.target(""));
    DOVETAIL_ASSIGN(const auto steps, arguments.steps(target));
    DOVETAIL_ASSIGN(driver::LoopProgram program, arguments.scheduled(written, steps));
    kernels.push_back({target, std::move(program)});
  }
  DOVETAIL_ASSIGN(const driver::RunInputs inputs, arguments.run_inputs(written));
  DOVETAIL_ASSIGN(const driver::System system, written.system());
  WatchedWork watched(limit);
  driver::LoopProfileOptions options;
  DOVETAIL_ASSIGN(options.runner, arguments.runner(watched.work()));
  DOVETAIL_ASSIGN(options.repeat, arguments.repeats());
  watched.begin();
  DOVETAIL_ASSIGN(const auto rows, driver::compare_kernels(kernels, inputs.tensors, options));
  watched.finish();
  if (arguments.json) {
    Json json = arguments.report(written);
    json["compared"] = compared_json(rows, system);
    print_json(json);
  } else {
    print_compared(rows);
  }
  for (const driver::ComparedKernel& row : rows)
    if (!row.wrong.empty())
      return fail(Exit::failed, {{"the schedule changes the values", row.target, row.wrong,
                                  "find the step with kernel run --explain", Cause::work}});
  const bool any = std::ranges::any_of(rows, &driver::ComparedKernel::available);
  return any ? Exit::success : Exit::failed;
}

}  // namespace dovetail::cli
