// What a kernel needs of the process that runs it: threads, workspace, mathematical functions and a place to report
// failures.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "bundle/code/kernel_abi.h"

namespace dovetail::bundle {

class KernelHost {
 public:
  // `threads` 0: one per processor that the process may use. Workspace is enough for the kernel that needs most.
  KernelHost(int threads, std::size_t shared_bytes, std::size_t local_bytes);
  ~KernelHost();
  KernelHost(const KernelHost&) = delete;
  KernelHost& operator=(const KernelHost&) = delete;

  int threads() const;

  // One kernel at a time. Error: the first rule that the kernel found broken, as `failures` words it by site.
  Result<void> run(Kernel kernel, void* const* buffers, std::span<const std::string> failures,
                   const std::string& where);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::bundle
