// The energy that an NVIDIA GPU uses, from its own counter (NVML, Volta and later). It includes everything that runs on
// the GPU in that time.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace dovetail::explore {

class GpuEnergy {
 public:
  // `pci_bus`: the device, in the form of cuDeviceGetPCIBusId. Loads the library that DOVETAIL_NVML names, else
  // libnvidia-ml.so.1 in the dynamic linker's path. Error: no library, no such device, or a device without a counter.
  static Result<GpuEnergy> open(const std::string& pci_bus);
  GpuEnergy(GpuEnergy&&) noexcept;
  ~GpuEnergy();

  // The energy since open(). The device updates the counter every ten milliseconds or so; 0 before the first update.
  // Error: the counter cannot be read any more.
  Result<double> joules();

 private:
  struct State;
  explicit GpuEnergy(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::explore
