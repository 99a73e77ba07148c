// The services that a kernel needs from the process that runs it: threads, workspace, mathematical functions and an
// error report.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "bundle/code/kernel_abi.h"

namespace dovetail::bundle {

class KernelHost {
 public:
  // `threads` 0: one per processor that the process may use. The workspace must suffice for the kernel with the largest
  // need.
  KernelHost(int threads, std::size_t shared_bytes, std::size_t local_bytes,
             ThreadPool::Placement placement = ThreadPool::Placement::pinned);
  ~KernelHost();
  KernelHost(const KernelHost&) = delete;
  KernelHost& operator=(const KernelHost&) = delete;

  int threads() const;

  // Runs one kernel at a time. Error: the first rule that the kernel found violated; `failures` holds the texts by
  // site.
  Result<void> run(Kernel kernel, void* const* buffers, std::span<const std::string> failures,
                   const std::string& where);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::bundle
