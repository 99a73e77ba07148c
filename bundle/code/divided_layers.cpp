#include "bundle/code/divided_layers.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "isa/accelerators.h"

namespace dovetail::bundle {

std::int64_t DividedLayer::pieces_of(std::size_t accelerator) const {
  std::int64_t sum = 0;
  for (const Part& part : parts)
    if (part.accelerator == accelerator) sum += part.end - part.begin;
  return sum;
}

namespace {

// Parts in order, without repetitions, and neighboring ones as one.
std::vector<DividedLayer::Part> joined(std::vector<DividedLayer::Part> parts) {
  std::ranges::sort(parts, {}, [](const auto& part) { return std::tuple(part.accelerator, part.begin, part.end); });
  std::vector<DividedLayer::Part> result;
  for (const DividedLayer::Part& part : parts)
    if (!result.empty() && result.back().accelerator == part.accelerator && part.begin <= result.back().end)
      result.back().end = std::max(result.back().end, part.end);
    else result.push_back(part);
  return result;
}

}  // namespace

std::vector<DividedLayer> divided_layers(const std::string& step, const AccelCode& code) {
  const std::vector<std::size_t> accelerators = isa::accelerators_of(code.program.size(), code.launches);
  if (std::ranges::all_of(accelerators, [](std::size_t accelerator) { return accelerator == 0; })) return {};
  std::vector<DividedLayer> layers;
  for (const InstructionRange& range : code.ranges) {
    if (range.begin == range.end) continue;
    auto layer = std::ranges::find(layers, range.name, &DividedLayer::name);
    if (layer == layers.end()) layer = layers.insert(layers.end(), DividedLayer{step, range.name, {}, 1, {}});
    const std::size_t accelerator = accelerators[range.begin];
    if (range.part) {
      layer->by = range.part->by;
      layer->pieces = range.part->pieces;
      layer->parts.push_back({accelerator, range.part->begin, range.part->end});
    } else {
      layer->parts.push_back({accelerator, 0, 1});
    }
  }
  for (DividedLayer& layer : layers) layer.parts = joined(std::move(layer.parts));
  return layers;
}

std::vector<DividedLayer> divided_layers(const Bundle& bundle) {
  std::vector<DividedLayer> layers;
  const auto add = [&](std::vector<DividedLayer> more) { std::ranges::move(more, std::back_inserter(layers)); };
  for (const Step& step : bundle.steps) {
    if (step.target == kAccelTarget) add(divided_layers(step.name, decode_accel(step).value()));
    for (const Bundle& program : step.programs) add(divided_layers(program));
  }
  return layers;
}

}  // namespace dovetail::bundle
