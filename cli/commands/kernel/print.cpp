#include "loops/print.h"
#include "cli/commands/kernel/actions.h"
#include "cli/shell/output.h"

namespace dovetail::cli {

Result<Exit> kernel_print(const KernelArguments& arguments) {
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled(""));
  if (arguments.json) print_json(arguments.report(program));
  else write_result(loops::to_string(program.program()));
  return Exit::success;
}

}  // namespace dovetail::cli
