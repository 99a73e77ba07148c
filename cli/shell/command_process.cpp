#include "cli/shell/command_process.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>

#include <unistd.h>

#include "base/out_of_memory.h"
#include "base/resource_error.h"
#include "base/temporary.h"
#include "cli/shell/command.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/terminal.h"
#include "cli/shell/watched_work.h"

namespace dovetail::cli {

namespace {

Process current = Process::own;

// The former actions of the signals that commands handle or ignore, to be restored.
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &former_[i]);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow further is an error of writing it
    std::signal(SIGPIPE, SIG_IGN);  // cli/shell/output.h handles a reader that leaves
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &former_[i], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> former_;
};

Exit out_of_memory() {
  if (current == Process::own) end_out_of_memory();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kOutOfMemory.data(), kOutOfMemory.size());
  return Exit::failed;
}

Exit run(int argument_count, const char* const* arguments) {
  try {
    return run_command_line(argument_count, arguments);
  } catch (const ResourceError& error) {
    return fail(Exit::failed, {error.diagnostic()});
  } catch (const std::bad_alloc&) {  // memory outside the heap, or of a process without end_out_of_memory()
    return out_of_memory();
  } catch (const std::length_error&) {  // more elements than a container can have
    return out_of_memory();
  } catch (const std::exception& error) {
    return fail(Exit::failed, {{"internal error", "", error.what(),
                                "this is a bug of the kit: report it with the command and its files"}});
  }
}

}  // namespace

Process command_process() { return current; }

void end_by_signal(int signal) {
  std::fflush(nullptr);
  remove_temporaries();
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  if (signal == SIGPIPE) std::signal(SIGPIPE, SIG_DFL);  // ignored until now
  if (signal == SIGPIPE || action.sa_handler != SIG_IGN) std::raise(signal);
  std::_Exit(kEndedBySignal + signal);
}

int run_command(int argument_count, const char* const* arguments, Process process) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const KeptSignals kept;
  current = process;
  begin_output();
  forget_signal();
  set_color(Color::automatic);
  if (process == Process::hosts) finish_without_reader();
  Exit exit = run(argument_count, arguments);
  forget_stdin();
  if (const int signal = stopping_signal(); signal != 0) {
    flush_output();
    return kEndedBySignal + signal;
  }
  if (!flush_output() && (exit == Exit::success || exit == Exit::failed))
    exit = fail(Exit::failed,
                {{"cannot write the output", "stdout", "the write failed", "check that the disk is not full"}});
  if (exit == Exit::success && reader_has_left()) return kEndedBySignal + SIGPIPE;
  return static_cast<int>(exit);
}

}  // namespace dovetail::cli
