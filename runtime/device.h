// The open interface of the runtime: a device that runs the steps of a back end which the kit does not know. The back
// end's code generator (compiler/target/target.h) and the device agree on what a payload means; docs/adding-a-target.md
// leads through both.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::runtime {

// A step made ready to run, many times.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  // Bytes of the step's arguments and results in its order, of the types and shapes that its tensors have; results hold
  // whatever, and all of them are to be written. No two overlap.
  virtual Result<void> run(std::span<const std::span<const std::byte>> arguments,
                           std::span<const std::span<std::byte>> results) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // ExternStep::device
  // Checks the payload, which may come from a file of anyone's. `bundle` and the step outlive the kernel.
  virtual Result<std::unique_ptr<DeviceKernel>> load(const bundle::Bundle& bundle, const bundle::ExternStep& step) = 0;
};

}  // namespace dovetail::runtime
