// What a step reads and writes, and how long tensors live.
#include <algorithm>

#include "bundle/bundle.h"

namespace dovetail::bundle {

namespace {

std::vector<TensorIndex> tensors_of(const std::vector<Binding>& bindings) {
  std::vector<TensorIndex> tensors;
  for (const Binding& binding : bindings) tensors.push_back(binding.tensor);
  return tensors;
}

}  // namespace

std::uint64_t size_bytes(const Tensor& tensor) {
  return static_cast<std::uint64_t>(element_count(tensor.shape) * dovetail::size_bytes(tensor.dtype));
}

std::vector<TensorIndex> arguments_of(const Step& step) {
  if (const auto* accel = std::get_if<AccelStep>(&step)) return tensors_of(accel->inputs);
  if (const auto* cpu = std::get_if<CpuStep>(&step)) return cpu->arguments;
  if (const auto* other = std::get_if<ExternStep>(&step)) return other->arguments;
  return std::get<HostStep>(step).arguments;
}

std::vector<TensorIndex> results_of(const Step& step) {
  if (const auto* accel = std::get_if<AccelStep>(&step)) return tensors_of(accel->outputs);
  if (const auto* cpu = std::get_if<CpuStep>(&step)) return cpu->results;
  if (const auto* other = std::get_if<ExternStep>(&step)) return other->results;
  return std::get<HostStep>(step).results;
}

TensorIndex root_of(const Bundle& bundle, TensorIndex tensor) {
  while (const auto& root = bundle.tensors[static_cast<std::size_t>(tensor)].view_of) tensor = *root;
  return tensor;
}

std::vector<LiveRange> live_ranges(const Bundle& bundle) {
  std::vector<LiveRange> ranges(bundle.tensors.size());
  const auto range = [&](TensorIndex tensor) -> LiveRange& {
    return ranges[static_cast<std::size_t>(root_of(bundle, tensor))];
  };
  for (std::size_t s = 0; s < bundle.steps.size(); ++s) {
    const auto at = static_cast<std::ptrdiff_t>(s);
    for (const TensorIndex tensor : arguments_of(bundle.steps[s]))
      range(tensor).last = std::max(range(tensor).last, at);
    // A result that nothing reads is still written.
    for (const TensorIndex tensor : results_of(bundle.steps[s])) range(tensor) = {at, std::max(range(tensor).last, at)};
  }
  for (const TensorIndex output : bundle.outputs) range(output).last = static_cast<std::ptrdiff_t>(bundle.steps.size());
  for (std::size_t t = 0; t < ranges.size(); ++t) ranges[t] = range(static_cast<TensorIndex>(t));
  return ranges;
}

}  // namespace dovetail::bundle
