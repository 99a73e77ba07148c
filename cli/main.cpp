#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <unistd.h>

#include "base/check.h"
#include "base/no_unwinding.h"
#include "base/resource_error.h"
#include "cli/allocation.h"
#include "cli/shell/command.h"
#include "cli/shell/output.h"
#include "cli/shell/watched_work.h"

namespace {

using dovetail::cli::Exit;

// Written as it is: there may be no memory to word it.
Exit out_of_memory() {
  std::fflush(stdout);
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, dovetail::kOutOfMemory.data(), dovetail::kOutOfMemory.size());
  return Exit::failed;
}

// What may not throw (a destructor of nlohmann::json's, libstdc++'s directory_iterator) needs memory and gets none.
void end_where_nothing_can_be_thrown() {
  // GCC's code of a noexcept function does not say which exception is on its way.
  const bool unknown = std::current_exception() == nullptr && std::uncaught_exceptions() > 0;
  if (unknown && dovetail::cli::heap_has_refused()) dovetail::end_out_of_memory();
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    dovetail::end_out_of_memory();
  } catch (...) {  // a defect: the message of the C++ library, and a core
    __gnu_cxx::__verbose_terminate_handler();
  }
  std::abort();
}

// Tensors of megabytes come and go by the dozen. What one gives back serves the next, instead of going back to the
// system and coming anew, page by page.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
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
  keep_freed_memory();
  std::set_terminate(end_where_nothing_can_be_thrown);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow further is an error of writing it
  std::signal(SIGPIPE, SIG_IGN);  // cli/shell/output.h says what becomes of a reader that leaves
  Exit exit;
  try {
    exit = run(argument_count, arguments);
  } catch (const std::bad_alloc&) {  // while another failure was being worded
    exit = out_of_memory();
  }
  dovetail::cli::end_by_signal();
  if (!dovetail::cli::flush_output() && (exit == Exit::success || exit == Exit::failed))
    exit = dovetail::cli::fail(Exit::failed,
                               {{"cannot write the output", "stdout", "the write failed", "is the disk full?"}});
  if (exit == Exit::success) dovetail::cli::end_without_reader();
  return static_cast<int>(exit);
}
