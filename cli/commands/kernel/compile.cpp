#include <fmt/format.h>

#include "cli/commands/kernel/actions.h"
#include "cli/commands/write_bundle.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"

namespace dovetail::cli {

Result<Exit> kernel_compile(const KernelArguments& arguments) {
  if (!arguments.output) return bad_kernel_usage("-o", "it is missing", "name the bundle: -o OUT.dvt");
  DOVETAIL_ASSIGN(const std::string target, arguments.target(""));
  if (target == driver::kInterpreterTarget)
    return bad_kernel_usage("--target", "the interpreter runs programs without a bundle", "give cpu, accel or host");
  DOVETAIL_TRY(check_bundle_name(*arguments.output, "kernel"));
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled(target));
  DOVETAIL_ASSIGN(const driver::LoopProgram::Compiled compiled, program.compile(target, false, nullptr));
  DOVETAIL_TRY(write_bundle(compiled.bundle, *arguments.output));
  if (arguments.json) {
    Json json = arguments.report(program);
    json["bundle"] = *arguments.output;
    print_json(json);
  } else {
    print("{}", entry("next", fmt::format("`dovetail run {0}`, `profile {0}`, `export {0}`", *arguments.output)));
  }
  return Exit::success;
}

}  // namespace dovetail::cli
