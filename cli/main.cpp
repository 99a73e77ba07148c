#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include "base/check.h"
#include "cli/command.h"
#include "cli/watched_work.h"

namespace {

dovetail::cli::Exit out_of_memory() {
  return dovetail::cli::fail(dovetail::cli::Exit::bad_input,
                             {{"out of memory", "", "the input asks for more than there is", "check its sizes"}});
}

}  // namespace

int main(int argument_count, char** arguments) {
  using dovetail::cli::Exit;
  using dovetail::cli::fail;
  Exit exit;
  try {
    exit = dovetail::cli::run_command_line(argument_count, arguments);
  } catch (const std::bad_alloc&) {
    exit = out_of_memory();
  } catch (const std::length_error&) {  // more than a container can ever hold
    exit = out_of_memory();
  } catch (const std::exception& error) {
    exit = fail(Exit::failed, {{"internal error", "", error.what(),
                                "this is a defect of dovetail; please report it with the command and its files"}});
  }
  dovetail::cli::end_by_signal();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    if (exit == Exit::success)
      exit = fail(Exit::failed, {{"cannot write the output", "stdout", "the write failed", "is the disk full?"}});
  return static_cast<int>(exit);
}
