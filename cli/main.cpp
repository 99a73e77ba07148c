#include <csignal>
#include <cstdio>
#include <new>
#include <stdexcept>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/check.h"
#include "base/out_of_memory.h"
#include "base/resource_error.h"
#include "cli/shell/command.h"
#include "cli/shell/output.h"
#include "cli/shell/watched_work.h"

namespace {

using dovetail::cli::Exit;

// Dozens of tensors of megabytes are allocated and freed. The next tensor reuses freed memory, instead of new pages
// from the system.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the maximum of glibc
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

Exit run(int argument_count, char** arguments) {
  try {
    return dovetail::cli::run_command_line(argument_count, arguments);
  } catch (const dovetail::ResourceError& error) {
    return dovetail::cli::fail(Exit::failed, {error.diagnostic()});
  } catch (const std::bad_alloc&) {  // memory outside the heap
    dovetail::end_out_of_memory();
  } catch (const std::length_error&) {  // more elements than a container can have
    dovetail::end_out_of_memory();
  } catch (const std::exception& error) {
    return dovetail::cli::fail(Exit::failed,
                               {{"internal error", "", error.what(),
                                 "this is a defect of dovetail; please report it with the command and its files"}});
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  keep_freed_memory();
  std::set_new_handler(dovetail::end_out_of_memory);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow further is an error of writing it
  std::signal(SIGPIPE, SIG_IGN);  // cli/shell/output.h handles a reader that leaves
  Exit exit = run(argument_count, arguments);
  dovetail::cli::end_by_signal();
  if (!dovetail::cli::flush_output() && (exit == Exit::success || exit == Exit::failed))
    exit = dovetail::cli::fail(
        Exit::failed, {{"cannot write the output", "stdout", "the write failed", "check that the disk is not full"}});
  if (exit == Exit::success) dovetail::cli::end_without_reader();
  return static_cast<int>(exit);
}
