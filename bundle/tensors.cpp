// Facts about tensors: their size, what they are views of, and how long they live.
#include <algorithm>

#include "bundle/bundle.h"

namespace dovetail::bundle {

std::uint64_t size_bytes(const Tensor& tensor) {
  return static_cast<std::uint64_t>(element_count(tensor.shape) * dovetail::size_bytes(tensor.dtype));
}

TensorIndex root_of(const Bundle& bundle, TensorIndex tensor) {
  while (const auto& root = bundle.tensors[static_cast<std::size_t>(tensor)].view_of) tensor = *root;
  return tensor;
}

const Module* find_module(const Bundle& bundle, std::string_view target) {
  const auto found = std::ranges::find(bundle.modules, target, &Module::target);
  return found == bundle.modules.end() ? nullptr : &*found;
}

std::vector<LiveRange> live_ranges(const Bundle& bundle) {
  std::vector<LiveRange> ranges(bundle.tensors.size());
  const auto range = [&](TensorIndex tensor) -> LiveRange& {
    return ranges[static_cast<std::size_t>(root_of(bundle, tensor))];
  };
  for (std::size_t s = 0; s < bundle.steps.size(); ++s) {
    const auto at = static_cast<std::ptrdiff_t>(s);
    for (const TensorIndex tensor : bundle.steps[s].arguments) range(tensor).last = std::max(range(tensor).last, at);
    // A result that nothing reads is still written.
    for (const TensorIndex tensor : bundle.steps[s].results) range(tensor) = {at, std::max(range(tensor).last, at)};
  }
  for (const TensorIndex output : bundle.outputs) range(output).last = static_cast<std::ptrdiff_t>(bundle.steps.size());
  for (std::size_t t = 0; t < ranges.size(); ++t) ranges[t] = range(static_cast<TensorIndex>(t));
  return ranges;
}

}  // namespace dovetail::bundle
