// What an NVIDIA GPU uses, by its own counter (NVML, Volta and later). It is all that runs on it meanwhile, not only
// what is measured.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace dovetail::explore {

class GpuEnergy {
 public:
  // `pci_bus`: of the device, as cuDeviceGetPCIBusId writes it. Where DOVETAIL_NVML names a file, that library; else
  // libnvidia-ml.so.1 as the loader finds it. Error: why there is nothing to read: no library, no such device, or one
  // that does not count.
  static Result<GpuEnergy> open(const std::string& pci_bus);
  GpuEnergy(GpuEnergy&&) noexcept;
  ~GpuEnergy();

  // Since open(). The device counts in steps of some ten milliseconds: 0 where it has not counted since. Error: the
  // counter cannot be read any more.
  Result<double> joules();

 private:
  struct State;
  explicit GpuEnergy(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::explore
