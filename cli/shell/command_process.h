// Runs a command, from its arguments to its exit code: in its own process (cli/main.cpp), or in the process of a
// program that continues afterwards (dvt_command of the C interface).
#pragma once

namespace dovetail::cli {

enum class Process {
  own,  // may be ended by the command's work: by stdout's reader that leaves, by a second without an answer to Ctrl-C
  hosts
};

// The exit code of a command that a signal ended: this plus the signal's number, as shells have it.
inline constexpr int kEndedBySignal = 128;

// Runs the command that the arguments name. Returns its exit code (cli/shell/command.h), or kEndedBySignal plus SIGINT
// or SIGTERM, which stopped its work, or SIGPIPE if stdout's reader has left. Until it returns, SIGPIPE and SIGXFSZ are
// ignored and commands handle SIGINT and SIGTERM; then all have their former actions. Calls run one after the other.
int run_command(int argument_count, const char* const* arguments, Process process);

// The process that the command runs in.
Process command_process();

// Ends the process by the signal, after removing its temporary files.
[[noreturn]] void end_by_signal(int signal);

}  // namespace dovetail::cli
