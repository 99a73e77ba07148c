#include "base/machine_code_permission.h"

#include <fmt/format.h>

#include "base/user_folder.h"

namespace dovetail {

bool may_execute_machine_code() { return environment(kMachineCodeVariable).value_or("allowed") == "allowed"; }

Result<void> check_machine_code(std::string_view what, std::string_view where) {
  if (may_execute_machine_code()) return {};
  const std::string value = *environment(kMachineCodeVariable);
  const bool by_board = value == kMachineCodeForbiddenByBoard, by_device = value == kMachineCodeForbiddenByDevice;
  return Diagnostic{
      std::string(what), std::string(where),
      fmt::format("it needs machine code, which this process may not execute ({}={}): {}", kMachineCodeVariable, value,
                  by_board    ? "the board runs none (`dovetail serve`)"
                  : by_device ? "commands with the board's accelerator run none, since it may reach all memory"
                              : "on a board, the client's certificate lacks the role run-code"),
      fmt::format("use {}targets without machine code: --target accel --cpu interpreter",
                  by_board    ? "another board, or "
                  : by_device ? ""
                              : "a certificate with this role, or ")};
}

}  // namespace dovetail
