#include <string>
#include <vector>

#include "cli/commands/kernel/actions.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "driver/loop_counts.h"
#include "driver/value_text.h"

namespace dovetail::cli {

Result<Exit> kernel_check(const KernelArguments& arguments) {
  DOVETAIL_ASSIGN(const std::string target, arguments.target(driver::kInterpreterTarget));
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled(target));
  std::vector<std::string> takes;
  if (target != driver::kInterpreterTarget) {
    DOVETAIL_TRY(program.compile(target, true, nullptr));
    takes.push_back(target);
  }
  if (arguments.json) {
    Json json = arguments.report(program);
    json["targets"] = takes;
    print_json(json);
    return Exit::success;
  }
  print("program       {}\n", program_text(program));
  const Json facts = program.to_json();
  for (const Json& parameter : facts["parameters"])
    print("{:13} {}: {}\n", parameter["role"].get<std::string>(), parameter["name"].get<std::string>(),
          driver::type_text(*dtype_from_name(parameter["dtype"].get<std::string>()), parameter["shape"].get<Shape>()));
  print("{}", entry("a run", driver::counts_text(driver::count_loops(program.program()))));
  print("{}",
        entry("valid", takes.empty() ? "yes; --target asks whether a target takes it" : "yes, also for " + target));
  return Exit::success;
}

}  // namespace dovetail::cli
