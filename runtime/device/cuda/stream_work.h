// The work of a step on the stream: the kit's kernels, or library calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "runtime/device.h"
#include "runtime/device/cuda/driver.h"

namespace dovetail::runtime::cuda {

class StreamWork {
 public:
  virtual ~StreamWork() = default;
  // Starts the work without waiting: the stream may be capturing. `tensors`: of the step, arguments first.
  virtual Result<void> begin(std::span<const Address> tensors, Address workspace) = 0;
  virtual std::uint64_t workspace_bytes() const { return 0; }
  // True if there is nothing to start: the results are already complete.
  virtual bool is_empty() const { return false; }
  // If kernels may report a violated rule at CudaProgram::failure, these are its texts, by site.
  virtual const std::vector<std::string>* failures() const { return nullptr; }
  virtual std::uint64_t work_steps() const = 0;
  virtual std::vector<KernelFacts> kernels() const { return {}; }
};

}  // namespace dovetail::runtime::cuda
