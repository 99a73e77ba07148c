// The locations of a run's tensors: the caller's memory, the bundle, the memory shared by the run's tensors, or a
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
  // `memories`: indexed by space; the host's is null. The bundle outlives this object. Precondition: it verifies.
  TensorMemory(const bundle::Bundle& bundle, std::vector<std::shared_ptr<DeviceMemory>> memories);

  // Initializes the devices' memories again; `inputs` outlive the run. Precondition: the inputs match the bundle.
  Result<void> begin(const std::map<std::string, NdArray>& inputs);
  // The same with the inputs' bytes, in the order of the bundle's inputs.
  Result<void> begin(std::span<const std::span<const std::byte>> inputs);
  // After begin(): places outputs in the caller's memory for this run, so that they need no copy. `outputs`: by
  // position; empty: not there. Left in the run's own memory are outputs that no step computes, states, those in a
  // device's memory, and those whose new place is not aligned to bundle::kTensorAlignment or overlaps an input or
  // another output.
  void place_outputs(std::span<const std::span<std::byte>> outputs);

  // The operands of a step as seen by the device of that name. Tensors that neither the host nor the step's device can
  // access are copied: an argument now, a result when `written` reports that it is complete.
  Result<Operand> argument(bundle::TensorIndex tensor, std::string_view device);
  Operand result(bundle::TensorIndex tensor, std::string_view device);
  Result<void> written(bundle::TensorIndex tensor, std::string_view device);
  // Whether the tensor has a fixed host address in all runs: it is neither an input nor an output, which may be in the
  // caller's memory, nor in a device's memory.
  bool stays(bundle::TensorIndex tensor) const;

  // A root tensor's bytes, if the host accesses them in place; else empty.
  std::span<std::byte> in_place(bundle::TensorIndex root) const;

  // Makes a tensor visible to the host; `read` and `copy` then return it until it changes.
  Result<void> fetch(bundle::TensorIndex tensor);
  std::span<const std::byte> read(bundle::TensorIndex tensor) const;
  NdArray copy(bundle::TensorIndex tensor) const;

 private:
  struct Place {
    std::byte* host = nullptr;  // null if the host cannot access it
    DeviceMemory* memory = nullptr;
    std::uint64_t offset = 0;
  };
  bool is_of(bundle::TensorIndex root, std::string_view device) const;
  bool may_be_placed(bundle::TensorIndex output) const;
  std::span<std::byte> staged(bundle::TensorIndex root);

  const bundle::Bundle& bundle_;
  std::vector<std::shared_ptr<DeviceMemory>> memories_;
  AlignedBytes shared_;
  std::vector<AlignedBytes> own_;
  std::vector<Place> places_;  // by root tensor; inputs and outputs change from run to run
  // The root tensors of outputs that place_outputs may move, and their places in the run's own memory.
  std::map<bundle::TensorIndex, std::byte*> movable_;
  // Host copies of tensors that the host cannot access, and which of the copies are up to date.
  std::map<bundle::TensorIndex, AlignedBytes> staged_;
  std::set<bundle::TensorIndex> fetched_;
};

}  // namespace dovetail::runtime
