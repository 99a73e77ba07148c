#include "compiler/quantize/forward.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "compiler/reference/reference.h"

namespace dovetail::quantize {

Result<Values> Forward::operator()(const Values& inputs) const {
  DOVETAIL_TRY(run(inputs));
  Values values;
  for (const std::string& name : outputs) {
    DOVETAIL_ASSIGN(NdArray value, output(name));
    values.emplace(name, std::move(value));
  }
  return values;
}

std::vector<std::string> output_names(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::ValueId output : graph.outputs) names.push_back(graph.value(output).name);
  return names;
}

MakeForward reference_forward() {
  return [](const graph::Graph& graph) -> Result<Forward> {
    DOVETAIL_ASSIGN(const Reference reference, Reference::make(graph));
    const auto last = std::make_shared<Values>();
    return Forward{[reference, last](const Values& inputs) -> Result<void> {
                     DOVETAIL_ASSIGN(*last, reference.run(inputs));
                     return {};
                   },
                   [last](const std::string& name) -> Result<NdArray> { return last->at(name); }, output_names(graph)};
  };
}

graph::Graph with_outputs(graph::Graph graph, const std::vector<graph::ValueId>& outputs) {
  graph.outputs.clear();
  for (const graph::ValueId value : outputs)
    if (graph.value(value).producer.valid() && !graph.is_output(value)) graph.outputs.push_back(value);
  return graph;
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
