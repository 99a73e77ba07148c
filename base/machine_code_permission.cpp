#include "base/machine_code_permission.h"

#include <fmt/format.h>

#include "base/user_folder.h"

namespace dovetail {

bool may_execute_machine_code() { return environment(kMachineCodeVariable).value_or("allowed") == "allowed"; }

Result<void> check_machine_code(std::string_view what, std::string_view where) {
  if (may_execute_machine_code()) return {};
  return Diagnostic{
      std::string(what), std::string(where),
      fmt::format("it needs machine code, which this process may not execute ({}={}): on a board, the client's "
                  "certificate lacks the role run-code",
                  kMachineCodeVariable, *environment(kMachineCodeVariable)),
      "use a certificate with this role, or targets without machine code: --target accel --cpu interpreter"};
}

}  // namespace dovetail
