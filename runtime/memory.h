// Where the tensors of a run lie: with the caller, in the bundle, in the memory that the run's tensors share, or in a
// device's memory.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "runtime/device.h"

namespace dovetail::runtime {

class TensorMemory {
 public:
  // `memories` by space; that of the host's is null. The bundle outlives this. Precondition: it verifies.
  TensorMemory(const bundle::Bundle& bundle, std::vector<std::shared_ptr<DeviceMemory>> memories);

  // Lays out the devices' memories again; `inputs` outlive the run. Precondition: the inputs are what the bundle takes.
  Result<void> begin(const std::map<std::string, NdArray>& inputs);
  // The same of their bytes, in the order of the bundle's inputs.
  Result<void> begin(std::span<const std::span<const std::byte>> inputs);

  // As a step sees them that runs on the device of that name. What lies where neither the host nor the step's device
  // reaches is copied: an argument now, a result when `written` says that it is there.
  Result<Operand> argument(bundle::TensorIndex tensor, std::string_view device);
  Operand result(bundle::TensorIndex tensor, std::string_view device);
  Result<void> written(bundle::TensorIndex tensor, std::string_view device);
  // Whether the tensor lies at one place of the host's in all runs: neither an input, which the caller has, nor in a
  // device's memory.
  bool stays(bundle::TensorIndex tensor) const;

  // Makes the host see a tensor, which `read` and `copy` then show until it changes.
  Result<void> fetch(bundle::TensorIndex tensor);
  std::span<const std::byte> read(bundle::TensorIndex tensor) const;
  NdArray copy(bundle::TensorIndex tensor) const;

 private:
  struct Place {
    std::byte* host = nullptr;  // null where the host cannot reach it
    DeviceMemory* memory = nullptr;
    std::uint64_t offset = 0;
  };
  bool is_of(bundle::TensorIndex root, std::string_view device) const;
  std::span<std::byte> staged(bundle::TensorIndex root);

  const bundle::Bundle& bundle_;
  std::vector<std::shared_ptr<DeviceMemory>> memories_;
  AlignedBytes shared_;
  std::vector<AlignedBytes> own_;
  std::vector<Place> places_;  // by tensor, of roots; inputs change from run to run
  // Copies in the host of what it cannot reach, and which of them are up to date.
  std::map<bundle::TensorIndex, AlignedBytes> staged_;
  std::set<bundle::TensorIndex> fetched_;
};

}  // namespace dovetail::runtime
