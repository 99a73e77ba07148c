// SystemC keeps its kernel in global variables: one simulation at a time in a process, each with a new kernel.
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include <systemc>

#include "base/resource_error.h"

namespace dovetail::simulator::systemc {

class Kernel {
 public:
  Kernel();  // waits until there is no other kernel
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  std::unique_ptr<sc_core::sc_simcontext> context_;
};

// Returns the result of `elaborate_and_run`, which creates the modules, calls sc_start() and destroys the modules.
// SystemC's coroutines register their stacks with AddressSanitizer, and leave the last of them registered for the
// thread that runs them: this thread ends with the simulation. Throws ResourceError: the system gives no thread.
template <typename Work>
auto in_fresh_kernel(Work&& elaborate_and_run) {
  const auto work = [&] {
    const Kernel kernel;
    return std::forward<Work>(elaborate_and_run)();
  };
  std::future<decltype(work())> result;
  try {
    result = std::async(std::launch::async, work);
  } catch (const std::system_error& error) {
    throw ResourceError({"cannot start a thread", "SystemC", error.code().message(), "raise `ulimit -u`"});
  }
  return result.get();
}

}  // namespace dovetail::simulator::systemc
