#include "compiler/quantize/forward.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/reference/reference.h"

namespace dovetail::quantize {

MakeForward reference_forward() {
  return [](const graph::Graph& graph) -> Result<Forward> {
    DOVETAIL_ASSIGN(const Reference reference, Reference::make(graph));
    return Forward([reference](const Values& inputs) { return reference.run(inputs); });
  };
}

graph::Graph with_outputs(graph::Graph graph, const std::vector<graph::ValueId>& outputs) {
  graph.outputs.clear();
  for (const graph::ValueId value : outputs)
    if (graph.value(value).producer.valid() && !graph.is_output(value)) graph.outputs.push_back(value);
  return graph;
}

Result<void> run_all(const Forward& forward, std::span<const Values> samples, std::string_view what,
                     const Progress& progress, const std::function<void(const Values& values)>& take) {
  std::int64_t done = 0;
  for (const Values& sample : samples) {
    if (progress) DOVETAIL_TRY(progress(what, done++, static_cast<std::int64_t>(samples.size())));
    DOVETAIL_ASSIGN(Values values, forward(sample));
    values.insert(sample.begin(), sample.end());
    take(values);
  }
  return {};
}

std::int64_t arg_max(const NdArray& array) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < array.count(); ++i)
    if (array.as_double(i) > array.as_double(best)) best = i;
  return best;
}

double SignalAndNoise::decibels() const {
  constexpr double kExact = 200;
  if (noise == 0) return kExact;
  return signal == 0 ? -kExact : std::clamp(10 * std::log10(signal / noise), -kExact, kExact);
}

}  // namespace dovetail::quantize
