// The boards of a queue as the other processes of a command that divides its work (explore/distribute).
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/shell/board_arguments.h"
#include "explore/distribute/transport.h"

namespace dovetail::cli {

// The other processes of the command: of the boards that it orders, of a launcher, or of the board that has started
// this process; null: none. Boards join when the queue leases them; a lost one is replaced by another.
Result<std::unique_ptr<explore::Transport>> other_processes(const BoardArguments& arguments, const CommandWords& words);

}  // namespace dovetail::cli
