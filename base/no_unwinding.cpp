#include "base/no_unwinding.h"

#include <mutex>
#include <new>

#include <unistd.h>

#include "base/vanishing.h"

namespace dovetail {

namespace {

thread_local int scopes = 0;
std::new_handler former_handler = nullptr;
void (*end_of_loader)() = nullptr;

void handle() {
  if (scopes > 0) end_out_of_memory();
  if (former_handler == nullptr) throw std::bad_alloc();
  former_handler();
}

}  // namespace

NoUnwinding::NoUnwinding() {
  static std::once_flag once;
  std::call_once(once, [] { former_handler = std::set_new_handler(handle); });
  ++scopes;
}

NoUnwinding::~NoUnwinding() { --scopes; }

void end_out_of_memory() {
  if (end_of_loader != nullptr) end_of_loader();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kOutOfMemory.data(), kOutOfMemory.size());
  remove_all_vanishing();
  ::_exit(1);
}

void end_out_of_memory_by(void (*loader)()) { end_of_loader = loader; }

}  // namespace dovetail
