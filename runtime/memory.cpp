#include "runtime/memory.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/large_pages.h"

namespace dovetail::runtime {

using bundle::TensorIndex;

namespace {

std::size_t at(TensorIndex tensor) { return static_cast<std::size_t>(tensor); }

// The address of the bytes, without const: read-only tensors are never written (the bundle is verified). Never null,
// not even for an empty tensor, since null means that a tensor is not in host memory.
std::byte* place_of(std::span<const std::byte> bytes) {
  alignas(bundle::kTensorAlignment) static std::byte nothing;
  return bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data());
}

}  // namespace

TensorMemory::TensorMemory(const bundle::Bundle& bundle, std::vector<std::shared_ptr<DeviceMemory>> memories)
    : bundle_(bundle),
      memories_(std::move(memories)),
      shared_(bundle.spaces.front().bytes),
      places_(bundle.tensors.size()) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const bundle::Tensor& tensor = bundle_.tensors[i];
    Place& place = places_[i];
    if (tensor.constant) {
      place.host = place_of(tensor.constant->bytes());
    } else if (tensor.space == bundle::kHostSpace && tensor.offset) {
      place.host = place_of(std::span(shared_).subspan(*tensor.offset, bundle::size_bytes(tensor)));
    } else if (tensor.offset) {
      place.memory = memories_[static_cast<std::size_t>(tensor.space)].get();
      place.offset = *tensor.offset;
      if (const auto bytes = place.memory->bytes(); !bytes.empty()) place.host = bytes.data() + place.offset;
    }
  }
  for (const bundle::Step& step : bundle_.steps)
    for (const TensorIndex result : step.results)
      if (Place& place = places_[at(result)]; place.host == nullptr && place.memory == nullptr)
        place.host = place_of(own_.emplace_back(bundle::size_bytes(bundle_.tensors[at(result)])));
  for (const TensorIndex output : bundle_.outputs)
    if (may_be_placed(output)) {
      const TensorIndex root = bundle::root_of(bundle_, output);
      movable_.emplace(root, places_[at(root)].host);
    }
  std::vector<std::span<const std::byte>> pieces{shared_};
  for (const bundle::Tensor& tensor : bundle_.tensors)
    if (tensor.constant) pieces.push_back(tensor.constant->bytes());
  use_large_pages(pieces);
}

Result<void> TensorMemory::begin(const std::map<std::string, NdArray>& inputs) {
  std::vector<std::span<const std::byte>> bytes;
  for (const TensorIndex input : bundle_.inputs) bytes.push_back(inputs.at(bundle_.tensors[at(input)].name).bytes());
  return begin(bytes);
}

Result<void> TensorMemory::begin(std::span<const std::span<const std::byte>> inputs) {
  fetched_.clear();
  for (const auto& memory : memories_)
    if (memory) DOVETAIL_TRY(memory->begin());
  for (std::size_t i = 0; i < inputs.size(); ++i) places_[at(bundle_.inputs[i])].host = place_of(inputs[i]);
  for (const auto& [root, own] : movable_) places_[at(root)].host = own;
  return {};
}

bool TensorMemory::may_be_placed(TensorIndex output) const {
  const TensorIndex root = bundle::root_of(bundle_, output);
  return places_[at(root)].host != nullptr && places_[at(root)].memory == nullptr &&
         !bundle_.tensors[at(root)].constant && std::ranges::find(bundle_.inputs, root) == bundle_.inputs.end() &&
         std::ranges::find(bundle_.states, output, &bundle::State::output) == bundle_.states.end();
}

void TensorMemory::place_outputs(std::span<const std::span<std::byte>> outputs) {
  std::vector<std::span<const std::byte>> taken;
  for (const TensorIndex input : bundle_.inputs) taken.push_back(in_place(input));
  std::set<TensorIndex> placed;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::span<std::byte> bytes = outputs[i];
    const auto overlaps = [&](std::span<const std::byte> other) {
      return std::less<>()(bytes.data(), other.data() + other.size()) &&
             std::less<>()(other.data(), bytes.data() + bytes.size());
    };
    const TensorIndex root = bundle::root_of(bundle_, bundle_.outputs[i]);
    const bool fits = !bytes.empty() &&
                      reinterpret_cast<std::uintptr_t>(bytes.data()) % bundle::kTensorAlignment == 0 &&
                      movable_.contains(root) && std::ranges::none_of(taken, overlaps) && placed.insert(root).second;
    if (fits) places_[at(root)].host = bytes.data();
    taken.push_back(bytes);
  }
}

bool TensorMemory::is_of(TensorIndex root, std::string_view device) const {
  return places_[at(root)].memory != nullptr &&
         bundle_.spaces[static_cast<std::size_t>(bundle_.tensors[at(root)].space)].target == device;
}

bool TensorMemory::stays(TensorIndex tensor) const {
  const TensorIndex root = bundle::root_of(bundle_, tensor);
  const Place& place = places_[at(root)];
  return place.host != nullptr && place.memory == nullptr && !movable_.contains(root) &&
         std::ranges::find(bundle_.inputs, root) == bundle_.inputs.end();
}

std::span<std::byte> TensorMemory::staged(TensorIndex root) {
  AlignedBytes& bytes = staged_[root];
  const std::uint64_t size = bundle::size_bytes(bundle_.tensors[at(root)]);
  if (bytes.size() != size) bytes = AlignedBytes(size);
  return bytes;
}

Operand TensorMemory::result(TensorIndex tensor, std::string_view device) {
  const Place& place = places_[at(tensor)];
  const std::uint64_t size = bundle::size_bytes(bundle_.tensors[at(tensor)]);
  Operand operand;
  if (place.host != nullptr) operand.bytes = {place.host, size};
  if (is_of(tensor, device)) {
    operand.memory = place.memory;
    operand.offset = place.offset;
  } else if (place.host == nullptr) {
    operand.bytes = staged(tensor);
  }
  return operand;
}

Result<Operand> TensorMemory::argument(TensorIndex tensor, std::string_view device) {
  const TensorIndex root = bundle::root_of(bundle_, tensor);
  if (!is_of(root, device)) DOVETAIL_TRY(fetch(root));
  return result(root, device);
}

Result<void> TensorMemory::written(TensorIndex tensor, std::string_view device) {
  const Place& place = places_[at(tensor)];
  if (place.host != nullptr || is_of(tensor, device)) return {};
  fetched_.insert(tensor);
  return place.memory->copy_in(place.offset, staged(tensor));
}

Result<void> TensorMemory::fetch(TensorIndex tensor) {
  const TensorIndex root = bundle::root_of(bundle_, tensor);
  const Place& place = places_[at(root)];
  if (place.host != nullptr || !fetched_.insert(root).second) return {};
  return place.memory->copy_out(place.offset, staged(root));
}

std::span<std::byte> TensorMemory::in_place(TensorIndex root) const {
  std::byte* const place = places_[at(root)].host;
  return place == nullptr ? std::span<std::byte>() : std::span(place, bundle::size_bytes(bundle_.tensors[at(root)]));
}

std::span<const std::byte> TensorMemory::read(TensorIndex tensor) const {
  const TensorIndex root = bundle::root_of(bundle_, tensor);
  const std::byte* place = places_[at(root)].host;
  return {place != nullptr ? place : staged_.at(root).data(), bundle::size_bytes(bundle_.tensors[at(root)])};
}

NdArray TensorMemory::copy(TensorIndex tensor) const {
  return {bundle_.tensors[at(tensor)].dtype, bundle_.tensors[at(tensor)].shape, read(tensor)};
}

}  // namespace dovetail::runtime
