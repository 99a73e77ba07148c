// What a step of the GPU's targets does on the stream: kernels of ours, or calls of a library.
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
  // Begins it, and waits for nothing: the stream may be capturing. `tensors`: of the step, arguments first.
  virtual Result<void> begin(std::span<const Address> tensors, Address workspace) = 0;
  virtual std::uint64_t workspace_bytes() const { return 0; }
  // Nothing is begun: the results are there already.
  virtual bool is_empty() const { return false; }
  // Kernels may leave a broken rule at CudaProgram::failure; these are its texts, by site.
  virtual const std::vector<std::string>* failures() const { return nullptr; }
  virtual std::uint64_t work_steps() const = 0;
  virtual std::vector<KernelFacts> kernels() const { return {}; }
};

}  // namespace dovetail::runtime::cuda
