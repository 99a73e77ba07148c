#include "bundle/code/target_facts.h"

#include <algorithm>
#include <array>

#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "bundle/code/cuda.h"
#include "bundle/code/flow.h"
#include "bundle/code/host.h"
#include "bundle/code/library.h"

namespace dovetail::bundle {

StepDescription describe_by_size(const Bundle&, const Step& step) {
  return {.json = {{"code_bytes", step.code.size()}, {"origins", step.origins}}, .memory_bytes = step.code.size()};
}

std::span<const TargetFacts* const> all_target_facts() {
  static constexpr std::array kAll{&kAccelFacts,  &kCpuFacts,  &kHostFacts,   &kFlowFacts,
                                   &kOnednnFacts, &kCudaFacts, &kCublasFacts, &kCudnnFacts};
  return kAll;
}

const TargetFacts* find_target_facts(std::string_view target) {
  const auto all = all_target_facts();
  const auto row = std::ranges::find(all, target, &TargetFacts::name);
  return row == all.end() ? nullptr : *row;
}

bool rounds_freely(const Step& step) {
  const TargetFacts* const facts = find_target_facts(step.target);
  return facts != nullptr && facts->rounds_freely(step);
}

bool has_clock(std::string_view target) {
  const TargetFacts* const facts = find_target_facts(target);
  return facts != nullptr && facts->has_clock;
}

bool runs_on(TargetDevice device, std::string_view target) {
  const TargetFacts* const facts = find_target_facts(target);
  return facts != nullptr && facts->device == device;
}

StepDescription describe(const Bundle& bundle, const Step& step) {
  const TargetFacts* const facts = find_target_facts(step.target);
  return facts == nullptr ? describe_by_size(bundle, step) : facts->describe(bundle, step);
}

}  // namespace dovetail::bundle
