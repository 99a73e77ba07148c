#include "driver/gpu_profile.h"

#include <set>

#include "bundle/code/target_facts.h"

namespace dovetail::driver {

namespace {

std::uint64_t bytes_of(const bundle::Bundle& bundle, const bundle::Step& step) {
  std::set<bundle::TensorIndex> tensors(step.arguments.begin(), step.arguments.end());
  tensors.insert(step.results.begin(), step.results.end());
  std::uint64_t bytes = 0;
  for (const bundle::TensorIndex tensor : tensors)
    bytes += bundle::size_bytes(bundle.tensors[static_cast<std::size_t>(tensor)]);
  return bytes;
}

}  // namespace

GpuProfile gpu_profile(const runtime::Executor& executor) {
  GpuProfile profile;
  const bundle::Bundle& bundle = executor.program();
  for (std::size_t index = 0; index < bundle.steps.size(); ++index) {
    const bundle::Step& step = bundle.steps[index];
    const bundle::TargetFacts* const facts = bundle::find_target_facts(step.target);
    if (facts == nullptr || facts->device != bundle::TargetDevice::gpu) continue;
    GpuStep& made = profile.steps[index];
    made.operations = facts->operations(step);
    made.bytes = bytes_of(bundle, step);
    made.kernels = executor.kernel_facts(index);
    if (!step.arguments.empty())
      made.numbers = name(bundle.tensors[static_cast<std::size_t>(step.arguments.front())].dtype);
  }
  if (profile.steps.empty()) return profile;
  auto peak = explore::measure_gpu_peak();
  if (peak.ok()) profile.peak = *peak;
  else profile.why = peak.errors().front().why;
  return profile;
}

}  // namespace dovetail::driver
