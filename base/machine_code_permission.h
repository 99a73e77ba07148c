// Whether this process may execute machine code that it generates, or that comes with a model or a bundle. A command
// that a board runs for a client without the role run-code may not (remote/): the board sets the environment variable.
// Every place that loads such code calls the check first; interpreters and simulators need no permission.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail {

inline constexpr const char* kMachineCodeVariable = "DOVETAIL_MACHINE_CODE";
inline constexpr const char* kMachineCodeForbidden = "forbidden";
// The same, for the reasons that a board may have.
inline constexpr const char* kMachineCodeForbiddenByBoard = "forbidden-by-board";
inline constexpr const char* kMachineCodeForbiddenByDevice = "forbidden-by-device";

// False if the variable is set, unless to "allowed".
bool may_execute_machine_code();

// Error: this process may not. `what` is the action that fails; `where` names the target, engine or file.
Result<void> check_machine_code(std::string_view what, std::string_view where);

}  // namespace dovetail
