#include "runtime/memory.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace dovetail::runtime {

using bundle::TensorIndex;

namespace {

std::size_t at(TensorIndex tensor) { return static_cast<std::size_t>(tensor); }

// The step's memory, with a few bytes in front so that its first one is aligned: kernels read and write tensors where
// they lie.
simulator::Dram memory_of(const bundle::AccelStep& step) {
  simulator::Dram dram{step.dram_base, std::vector<std::byte>(step.dram_bytes + bundle::kTensorAlignment)};
  const std::uint64_t over = reinterpret_cast<std::uintptr_t>(dram.bytes.data()) % bundle::kTensorAlignment;
  const std::uint64_t lead =
      over == 0 || step.dram_base < bundle::kTensorAlignment ? 0 : bundle::kTensorAlignment - over;
  dram.base -= lead;
  dram.bytes.resize(lead + step.dram_bytes);  // smaller: it stays where it is
  return dram;
}

}  // namespace

TensorMemory::TensorMemory(const bundle::Bundle& bundle)
    : bundle_(bundle), shared_(bundle.memory_bytes), place_(bundle.tensors.size(), nullptr) {
  place_in_devices();
  for (std::size_t i = 0; i < place_.size(); ++i) {
    const bundle::Tensor& tensor = bundle_.tensors[i];
    // Nobody writes to a constant: steps write to their results only (verified).
    if (tensor.constant) place_[i] = const_cast<std::byte*>(tensor.constant->bytes().data());
    else if (tensor.offset) place_[i] = shared_.data() + *tensor.offset;
  }
  for (const bundle::Step& step : bundle_.steps)
    for (const TensorIndex result : bundle::results_of(step))
      if (place_[at(result)] == nullptr)
        place_[at(result)] = own_.emplace_back(bundle::size_bytes(bundle_.tensors[at(result)])).data();
}

// A tensor that a step computes and an accelerator step binds lies where its first binding puts it. Others (inputs,
// constants) are copied there.
void TensorMemory::place_in_devices() {
  std::vector<bool> computed(place_.size(), false);
  for (const bundle::Step& step : bundle_.steps)
    for (const TensorIndex result : bundle::results_of(step)) computed[at(result)] = true;
  for (const bundle::Step& step : bundle_.steps) {
    const auto* accel = std::get_if<bundle::AccelStep>(&step);
    if (accel == nullptr) continue;
    auto device = std::find_if(devices_.begin(), devices_.end(),
                               [&](const DeviceMemory& known) { return known.number == accel->memory; });
    if (device == devices_.end()) {
      devices_.push_back({accel->memory, std::vector<std::byte>(accel->dram_bytes), memory_of(*accel)});
      device = devices_.end() - 1;
    }
    for (const bundle::Segment& segment : accel->segments)
      std::copy(segment.bytes.begin(), segment.bytes.end(),
                device->image.begin() + static_cast<std::ptrdiff_t>(segment.address - accel->dram_base));
    for (const auto* bindings : {&accel->inputs, &accel->outputs})
      for (const bundle::Binding& binding : *bindings) {
        std::byte* there = device->dram.bytes.data() + (binding.address - device->dram.base);
        const bool aligned = reinterpret_cast<std::uintptr_t>(there) % bundle::kTensorAlignment == 0;
        if (computed[at(binding.tensor)] && place_[at(binding.tensor)] == nullptr && aligned)
          place_[at(binding.tensor)] = there;
      }
  }
}

void TensorMemory::begin(const std::map<std::string, NdArray>& inputs) {
  for (DeviceMemory& device : devices_)
    std::copy(device.image.begin(), device.image.end(),
              device.dram.bytes.end() - static_cast<std::ptrdiff_t>(device.image.size()));
  for (const TensorIndex input : bundle_.inputs)
    place_[at(input)] = const_cast<std::byte*>(inputs.at(bundle_.tensors[at(input)].name).bytes().data());
}

std::span<const std::byte> TensorMemory::read(TensorIndex tensor) const {
  return {place_[at(bundle::root_of(bundle_, tensor))], bundle::size_bytes(bundle_.tensors[at(tensor)])};
}

std::span<std::byte> TensorMemory::write(TensorIndex tensor) {
  return {place_[at(tensor)], bundle::size_bytes(bundle_.tensors[at(tensor)])};
}

NdArray TensorMemory::copy(TensorIndex tensor) const {
  return {bundle_.tensors[at(tensor)].dtype, bundle_.tensors[at(tensor)].shape, read(tensor)};
}

simulator::Dram& TensorMemory::device(const bundle::AccelStep& step) {
  const auto device = std::find_if(devices_.begin(), devices_.end(),
                                   [&](const DeviceMemory& known) { return known.number == step.memory; });
  DOVETAIL_CHECK(device != devices_.end(), "step " + step.name + " is of this bundle");
  return device->dram;
}

}  // namespace dovetail::runtime
