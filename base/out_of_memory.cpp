#include "base/out_of_memory.h"

#include <unistd.h>

#include "base/temporary.h"

namespace dovetail {

void end_out_of_memory() {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kOutOfMemory.data(), kOutOfMemory.size());
  remove_temporaries();
  ::_exit(1);
}

}  // namespace dovetail
