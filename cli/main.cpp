#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include <unistd.h>

#include "base/check.h"
#include "base/resource_error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/watched_work.h"

namespace {

using dovetail::cli::Exit;

// Written as it is: there may be no memory to word it.
Exit out_of_memory() {
  constexpr std::string_view kText =
      "error: out of memory: what was asked for needs more than there is. Hint: check the sizes in its files, or run "
      "it "
      "where there is more\n";
  std::fflush(stdout);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  return Exit::failed;
}

Exit run(int argument_count, char** arguments) {
  try {
    return dovetail::cli::run_command_line(argument_count, arguments);
  } catch (const dovetail::ResourceError& error) {
    return dovetail::cli::fail(Exit::failed, {error.diagnostic()});
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {  // more than a container can ever hold
    return out_of_memory();
  } catch (const std::exception& error) {
    return dovetail::cli::fail(Exit::failed,
                               {{"internal error", "", error.what(),
                                 "this is a defect of dovetail; please report it with the command and its files"}});
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow further is an error of writing it
  Exit exit;
  try {
    exit = run(argument_count, arguments);
  } catch (const std::bad_alloc&) {  // while another failure was being worded
    exit = out_of_memory();
  }
  dovetail::cli::end_by_signal();
  if (!dovetail::cli::flush_output() && exit == Exit::success)
    exit = dovetail::cli::fail(Exit::failed,
                               {{"cannot write the output", "stdout", "the write failed", "is the disk full?"}});
  return static_cast<int>(exit);
}
