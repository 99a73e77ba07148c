#include <optional>

#include <fmt/format.h>

#include "cli/commands/kernel/actions.h"
#include "cli/report/kernel_report.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "cli/shell/clock_arguments.h"
#include "cli/shell/output.h"
#include "driver/kernels/profile.h"

namespace dovetail::cli {

Result<Exit> kernel_profile(const KernelArguments& arguments) {
  DOVETAIL_ASSIGN(const std::string target, arguments.target("cpu"));
  DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(arguments.limit.limits));
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled(target));
  DOVETAIL_ASSIGN(const driver::RunInputs inputs, arguments.run_inputs(program));
  DOVETAIL_ASSIGN(const driver::System system, program.system());
  WatchedWork watched(limit);
  driver::LoopProfileOptions options;
  DOVETAIL_ASSIGN(options.runner, arguments.runner(watched.work()));
  DOVETAIL_ASSIGN(options.repeat, arguments.repeats());
  watched.begin();
  DOVETAIL_ASSIGN(const driver::LoopProfile profile, driver::profile_loops(program, target, inputs.tensors, options));
  watched.finish();
  if (arguments.html) {
    const ClockArguments page{.html = arguments.html};
    DOVETAIL_TRY(write_traces(page, program.program().name, profile.timed, system, std::nullopt, Json()));
  }
  if (arguments.json) {
    Json json = arguments.report(program);
    json["profile"] = kernel_profile_json(profile, system);
    print_json(json);
    return Exit::success;
  }
  print("{}", entry("profiled", fmt::format("{} on {}", program_text(program), target)));
  print("{}", kernel_profile_text(profile, system));
  return Exit::success;
}

}  // namespace dovetail::cli
