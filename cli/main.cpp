#include <new>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/out_of_memory.h"
#include "cli/shell/command_process.h"

namespace {

// Keeps freed memory for later tensors: dozens of tensors of megabytes are allocated and freed, and new pages from the
// system are slow.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the maximum of glibc
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace

int main(int argument_count, char** arguments) {
  keep_freed_memory();
  std::set_new_handler(dovetail::end_out_of_memory);
  const int code = dovetail::cli::run_command(argument_count, arguments, dovetail::cli::Process::own);
  // Ends by the signal that stopped the work, so that the parent process sees it, and a shell's loop ends too.
  if (code > dovetail::cli::kEndedBySignal) dovetail::cli::end_by_signal(code - dovetail::cli::kEndedBySignal);
  return code;
}
