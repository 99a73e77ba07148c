// SystemC keeps its kernel in global variables: one simulation at a time in a process, each with its own kernel.
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
  Kernel();  // waits until there is no other
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  std::unique_ptr<sc_core::sc_simcontext> context_;
};

// What `elaborate_and_run` returns; it makes the modules, calls sc_start() and lets go of the modules again. SystemC's
// coroutines report their stacks to AddressSanitizer, and leave it with the last of them for the thread that runs them:
// this one ends with the simulation. Throws ResourceError: the system gives no thread.
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
