// Properties of tensors: their size, the tensor they are views of, and their live ranges.
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

std::vector<const Bundle*> all_programs(const Bundle& bundle) {
  std::vector<const Bundle*> all{&bundle};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Bundle& program = *all[i];  // `all` grows in the loop
    for (const Bundle& other : program.other_shapes) all.push_back(&other);
    for (const Step& step : program.steps)
      for (const Bundle& inner : step.programs) all.push_back(&inner);
  }
  return all;
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
    // A result that is never read is still written.
    for (const TensorIndex tensor : bundle.steps[s].results) range(tensor) = {at, std::max(range(tensor).last, at)};
  }
  const auto end = static_cast<std::ptrdiff_t>(bundle.steps.size());
  for (const TensorIndex output : bundle.outputs) range(output).last = end;
  for (const OutputExtent& row : bundle.extents) range(row.extent).last = end;
  for (std::size_t t = 0; t < ranges.size(); ++t) ranges[t] = range(static_cast<TensorIndex>(t));
  return ranges;
}

}  // namespace dovetail::bundle
