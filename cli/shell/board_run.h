// Runs a command line on a board of a queue: sends its files, shows what it prints, and fetches what it writes.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.h"
#include "cli/shell/command.h"
#include "cli/shell/shipment.h"
#include "remote/client.h"

namespace dovetail::cli {

// `most_wait`: for a board; nullopt: as long as it takes. Returns the command's exit code. Errors: no board is free in
// this time; the queue or the board refuses it, or is lost; a file that comes back cannot be written.
Result<Exit> run_on_board(remote::CommandOrder order, Shipment& shipment,
                          std::optional<std::chrono::seconds> most_wait);

// "board         pi4: Cortex-A72, 4 threads", and what a waiting command waits for.
void say_began(const remote::Began& began);
void say_waiting(const remote::Waiting& waiting, const remote::Place& place);

}  // namespace dovetail::cli
