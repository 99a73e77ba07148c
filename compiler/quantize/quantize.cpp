#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "compiler/passes/eliminate_dead_nodes.h"
#include "compiler/passes/eliminate_identities.h"
#include "compiler/passes/fold_batch_norm.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/rewriting.h"
#include "compiler/reference/reference.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using passes::qdq::Quantisation;

constexpr double kMostSaturated = 0.05, kMostCommon = 0.9;

// Normalisations belong into the weights before these are rounded.
Result<void> prepare(Graph& graph, const passes::PassContext& context) {
  DOVETAIL_TRY(passes::fold_constants(graph, context));
  DOVETAIL_TRY(passes::eliminate_identities(graph, context));
  DOVETAIL_TRY(passes::fold_batch_norm(graph, context));
  DOVETAIL_TRY(passes::eliminate_dead_nodes(graph));
  return {};
}

Result<void> check(const Graph& graph, std::span<const Values> samples, const Options& options) {
  Diagnostics errors;
  if (samples.empty())
    errors.push_back({"cannot quantise " + graph.name, "samples", "there are none, and ranges come from samples",
                      "give at least one"});
  for (const std::string& name : options.keep_float)
    if (!graph.find_node(name))
      errors.push_back({"cannot quantise " + graph.name, name, "the graph has no node of that name",
                        "`dovetail compile --dump import` lists the nodes"});
  return errors;
}

// The same graph with these outputs, each once; inputs are known without.
Graph with_outputs(Graph graph, const std::vector<ValueId>& outputs) {
  graph.outputs.clear();
  for (const ValueId value : outputs)
    if (graph.value(value).producer.valid() && !graph.is_output(value)) graph.outputs.push_back(value);
  return graph;
}

// What a Clip leaves of its operand.
Limits bounds_of(const Graph& graph, ValueId value) {
  Limits bounds;
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).op != "Clip") return bounds;
  const std::vector<ValueId>& inputs = graph.node(producer).inputs;
  if (inputs.size() > 1 && inputs[1].valid()) bounds.low = passes::uniform(graph, inputs[1]).value_or(bounds.low);
  if (inputs.size() > 2 && inputs[2].valid()) bounds.high = passes::uniform(graph, inputs[2]).value_or(bounds.high);
  return bounds;
}

// What one tensor's steps hold, and how far their reals are from the float graph's.
struct Tally {
  std::array<std::int64_t, 256> steps{};
  std::int64_t count = 0;
  double signal = 0, noise = 0;

  void add(const NdArray& quantised, const NdArray& real, const Quantisation& q) {
    const auto bytes = quantised.data<std::int8_t>();
    const auto reals = real.data<float>();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ++steps[static_cast<std::size_t>(bytes[i] + 128)];
      const double exact = reals[i],
                   error = static_cast<double>(bytes[i] - q.zero_point) * static_cast<double>(q.scale) - exact;
      signal += exact * exact;
      noise += error * error;
    }
    count += static_cast<std::int64_t>(bytes.size());
  }
  TensorReport report(std::string value, const Quantisation& q, const Limits& bounds) const {
    const auto share = [&](std::int64_t part) {
      return count == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(count);
    };
    // Nothing is cut where the end is the zero point, or a bound.
    const double scale = q.scale, half = scale / 2;
    const bool cuts_low = q.zero_point != -128 && (-128 - q.zero_point) * scale > bounds.low + half,
               cuts_high = q.zero_point != 127 && (127 - q.zero_point) * scale < bounds.high - half;
    const std::int64_t ends = (cuts_low ? steps[0] : 0) + (cuts_high ? steps[255] : 0);
    constexpr double kExact = 200;
    const double db = noise == 0    ? kExact
                      : signal == 0 ? -kExact
                                    : std::clamp(10 * std::log10(signal / noise), -kExact, kExact);
    return {std::move(value), q, share(ends), share(*std::max_element(steps.begin(), steps.end())), db};
  }
};

std::int64_t arg_max(const NdArray& array) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < array.count(); ++i)
    if (array.as_double(i) > array.as_double(best)) best = i;
  return best;
}

}  // namespace

MakeForward reference_forward() {
  return [](const Graph& graph) -> Result<Forward> {
    DOVETAIL_ASSIGN(const Reference reference, Reference::make(graph));
    return Forward([reference](const Values& inputs) { return reference.run(inputs); });
  };
}

Result<Quantised> quantize(Graph model, std::span<const Values> samples, const Options& options,
                           const MakeForward& make_forward) {
  DOVETAIL_TRY(check(model, samples, options));
  DOVETAIL_TRY(prepare(model, options.context));
  const Places places = find_places(model, options.keep_float);

  // Ranges on the float graph.
  std::map<ValueId, Observation> observations;
  DOVETAIL_ASSIGN(const Forward observe, make_forward(with_outputs(model, places.observed)));
  for (const Values& sample : samples) {
    DOVETAIL_ASSIGN(Values values, observe(sample));
    values.insert(sample.begin(), sample.end());  // inputs are observed too
    for (const ValueId value : places.observed) observations[value].add(values.at(model.value(value).name));
  }
  std::map<ValueId, Quantisation> ranges;
  for (const auto& [value, observation] : observations)
    ranges[value] = choose(observation, options.method, options.tail, bounds_of(model, value));
  for (const auto& each : places.same_as) {
    ValueId source = each.second;
    while (places.same_as.count(source)) source = places.same_as.at(source);
    ranges[each.first] = ranges.at(source);
  }

  Quantised result;
  result.graph = model;
  insert_qdq(result.graph, places, ranges, options.weights);
  result.float_nodes = places.float_nodes;
  result.samples = static_cast<int>(samples.size());
  if (auto verified = graph::verify(result.graph); !verified) throw InternalError(to_string(verified.errors()));

  // Both graphs side by side.
  struct Place {
    std::string value, steps;
    Quantisation q;
    Limits bounds;
    Tally tally;
  };
  std::vector<Place> order;
  std::vector<ValueId> reals, steps;
  const auto take = [&](ValueId value) {
    if (!ranges.count(value)) return;
    const std::string& name = model.value(value).name;
    ValueId source = value;
    while (places.same_as.count(source)) source = places.same_as.at(source);
    order.push_back({name, steps_name(name), ranges.at(value), bounds_of(model, source), {}});
    reals.push_back(value);
    steps.push_back(*result.graph.find_value(steps_name(name)));
  };
  for (const ValueId input : model.inputs) take(input);
  for (const NodeId id : model.topological_order())
    for (const ValueId output : model.node(id).outputs) take(output);
  const ValueId first = model.outputs[0];
  const std::string& choice = model.value(first).name;
  reals.push_back(first);
  steps.push_back(result.graph.outputs[0]);
  DOVETAIL_ASSIGN(const Forward exact, make_forward(with_outputs(model, reals)));
  DOVETAIL_ASSIGN(const Forward integer, make_forward(with_outputs(result.graph, steps)));
  for (const Values& sample : samples) {
    DOVETAIL_ASSIGN(Values want, exact(sample));
    want.insert(sample.begin(), sample.end());
    DOVETAIL_ASSIGN(const Values got, integer(sample));
    for (Place& place : order) place.tally.add(got.at(place.steps), want.at(place.value), place.q);
    result.same_choice += arg_max(want.at(choice)) == arg_max(got.at(choice));
  }
  for (const Place& place : order) result.tensors.push_back(place.tally.report(place.value, place.q, place.bounds));
  return result;
}

std::vector<std::string> degenerate(const Quantised& quantised) {
  std::vector<std::string> findings;
  for (const TensorReport& tensor : quantised.tensors) {
    if (tensor.saturated > kMostSaturated)
      findings.push_back(
          fmt::format("{}: {:.1f} % saturated > {:.0f} %", tensor.value, 100 * tensor.saturated, 100 * kMostSaturated));
    if (tensor.commonest > kMostCommon)
      findings.push_back(fmt::format("{}: {:.1f} % of its elements are one value > {:.0f} %", tensor.value,
                                     100 * tensor.commonest, 100 * kMostCommon));
  }
  return findings;
}

Json Quantised::to_json() const {
  Json rows = Json::array(), kept = Json::array();
  for (const TensorReport& tensor : tensors)
    rows.push_back({{"value", tensor.value},
                    {"scale", tensor.q.scale},
                    {"zero_point", tensor.q.zero_point},
                    {"saturated", tensor.saturated},
                    {"commonest", tensor.commonest},
                    {"signal_to_noise_db", tensor.signal_to_noise_db}});
  for (const auto& [name, op] : float_nodes) kept.push_back({{"node", name}, {"op", op}});
  return {{"samples", samples}, {"same_choice", same_choice}, {"tensors", rows}, {"float_nodes", kept}};
}

}  // namespace dovetail::quantize
