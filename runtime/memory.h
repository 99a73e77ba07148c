// Where the tensors of a run lie: with the caller, in the bundle, in the memory that the run's tensors share, or in an
// accelerator's memory.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "bundle/bundle.h"
#include "simulator/simulator.h"

namespace dovetail::runtime {

// The memory of one or several accelerator steps.
struct DeviceMemory {
  std::int32_t number;           // bundle::AccelStep::memory
  std::vector<std::byte> image;  // as every run finds it
  simulator::Dram dram;
};

class TensorMemory {
 public:
  // The bundle outlives this. Precondition: it verifies.
  explicit TensorMemory(const bundle::Bundle& bundle);

  // Lays out the devices' memories again; `inputs` outlive the run. Precondition: the inputs are what the bundle takes.
  void begin(const std::map<std::string, NdArray>& inputs);

  std::span<const std::byte> read(bundle::TensorIndex tensor) const;
  std::span<std::byte> write(bundle::TensorIndex tensor);  // precondition: of a tensor that a step computes
  NdArray copy(bundle::TensorIndex tensor) const;
  simulator::Dram& device(const bundle::AccelStep& step);

 private:
  void place_in_devices();

  const bundle::Bundle& bundle_;
  AlignedBytes shared_;
  std::vector<AlignedBytes> own_;
  std::vector<DeviceMemory> devices_;
  std::vector<std::byte*> place_;  // by tensor; inputs change from run to run
};

}  // namespace dovetail::runtime
