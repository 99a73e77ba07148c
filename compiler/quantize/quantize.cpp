#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "compiler/passes/fold_constants.h"
#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"
#include "compiler/passes/simplify_algebra.h"
#include "compiler/quantize/compare.h"
#include "compiler/quantize/correct_biases.h"
#include "compiler/quantize/equalize.h"
#include "compiler/quantize/masks.h"
#include "compiler/quantize/sum_scales.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using passes::qdq::Quantization;
using Ranges = std::map<ValueId, Quantization>;

constexpr double kMostSaturated = 0.05, kMostCommon = 0.9;

// Normalizations of several nodes become one node, without ranges of intermediate values; factors and addends are
// folded into the weights before these are rounded, and signs into factors.
Result<void> prepare(Graph& graph, const passes::PassContext& context) {
  DOVETAIL_TRY(passes::fold_constants(graph, context));
  DOVETAIL_TRY(passes::eliminate_identities(graph, context));
  DOVETAIL_TRY(passes::recognize_normalizations(graph, context));
  DOVETAIL_TRY(passes::fold_batch_norm(graph, context));
  DOVETAIL_TRY(passes::fold_scales(graph, context));
  for (const NodeId id : graph.topological_order())
    if (!graph.node(id).removed) passes::turn_factors(graph, id);
  hide_scores_by_condition(graph);
  DOVETAIL_TRY(passes::eliminate_dead_nodes(graph));
  return {};
}

Result<void> check(const Graph& graph, const Samples& samples, const Options& options) {
  Diagnostics errors;
  if (samples.count == 0)
    errors.push_back({"cannot quantize " + graph.name, "samples",
                      "no samples are given, but ranges are computed from samples", "give at least one sample"});
  for (const NodeId id : graph.live_nodes())
    if (const graph::Node& node = graph.node(id); node.op == "QuantizeLinear" || node.op.starts_with("dovetail.q")) {
      errors.push_back({"cannot quantize " + graph.name, node.name, "the model is already quantized",
                        "give the float model that this one was made from"});
      break;
    }
  for (const std::string& name : options.keep_float)
    if (!graph.find_node(name))
      errors.push_back({"cannot quantize " + graph.name, name, "the graph has no node of this name",
                        "`dovetail compile --dump import` lists the nodes"});
  return errors;
}

std::vector<std::string_view> parts_of(const Options& options) {
  std::vector<std::string_view> parts{"ranges"};
  if (options.correct_biases) parts.emplace_back("biases");
  parts.emplace_back("comparison");
  if (options.layer_samples > 0) parts.emplace_back("layers");
  return parts;
}

// Extremes and histograms of values of the float graph.
Result<std::map<ValueId, Observation>> observe(const Graph& model, const std::vector<ValueId>& values, const Runs& runs,
                                               const MakeForward& make_forward) {
  std::map<ValueId, Observation> observations;
  std::vector<Sum> sums;
  const Values* inputs = nullptr;
  Forward forward;
  for (const ValueId value : values) {
    Observation& observation = observations[value];
    const std::string& name = model.value(value).name;
    sums.push_back({.name = name,
                    .add = [&, name]() -> Result<void> {
                      const auto input = inputs->find(name);
                      if (input != inputs->end()) {
                        observation.add(input->second);
                        return {};
                      }
                      DOVETAIL_ASSIGN(const NdArray array, forward.output(name));
                      observation.add(array);
                      return {};
                    },
                    .to_json = [&observation] { return observation.to_json(); },
                    .from_json = [&observation](const Json& json) { observation = Observation::from_json(json); }});
  }
  const auto of = [&](Range range) { return std::span(values).subspan(range.begin, range.end - range.begin); };
  DOVETAIL_TRY(runs.sum(
      "ranges", sums, model.name, [&](Range range) { return peak_bytes(model, of(range)); },
      [&](Range range) -> Result<Runs::Run> {
        forward = {};  // its memory, before the next one is made
        DOVETAIL_ASSIGN(forward, make_forward(with_outputs(model, {of(range).begin(), of(range).end()})));
        return Runs::Run([&](const Values& sample) {
          inputs = &sample;
          return forward.run(sample);
        });
      }));
  return observations;
}

Ranges ranges_of(const Graph& model, const Places& places, const std::map<ValueId, Observation>& observations,
                 const Options& options) {
  Ranges ranges;
  for (const auto& [value, observation] : observations)
    ranges[value] = choose(observation, options.method, options.tail, bounds_of(model, value), options.grid);
  if (options.grid.scales == Scales::any) relate_sums(model, places, ranges);
  for (const auto& [value, source] : places.same_as) ranges[value] = ranges.at(source_of(places, value));
  return ranges;
}

// The QDQ graph, with corrected biases if requested.
Result<Graph> quantized_graph(const Graph& model, const Places& places, const Ranges& ranges, const Runs& runs,
                              const Options& options, const MakeForward& make_forward,
                              std::vector<std::string>& corrected) {
  const WeightGrid weights{options.weights, options.grid.scales, options.weight_bits};
  Graph graph = model;
  insert_qdq(graph, places, ranges, weights);
  if (options.correct_biases) {
    DOVETAIL_ASSIGN(const Shifts shifts, measure_shifts(model, graph, runs, make_forward));
    graph = model;
    corrected = correct_biases(graph, shifts);
    insert_qdq(graph, places, ranges, weights);
  }
  if (auto verified = graph::verify(graph); !verified) throw InternalError(to_string(verified.errors()));
  return graph;
}

}  // namespace

Result<Quantized> quantize(Graph model, const Samples& samples, const Options& options,
                           const MakeForward& make_forward) {
  DOVETAIL_TRY(check(model, samples, options));
  DOVETAIL_TRY(prepare(model, options.context));
  Quantized result;
  if (options.equalize) result.equalized = equalize(model);
  Places places = find_places(model, options.keep_float);
  if (places.observed.empty())
    return Diagnostic{"cannot quantize " + model.name, "the model",
                      "the model has no float operator that can compute on int8 (docs/reference/quantization.md)",
                      options.keep_float.empty() ? "run the model as it is" : "keep fewer nodes in float"};

  // Ranges from the float graph.
  const Runs runs(samples, options.progress, options.keeper, options.memory, parts_of(options));
  DOVETAIL_ASSIGN(auto observations, observe(model, places.observed, runs, make_forward));
  Ranges ranges = ranges_of(model, places, observations, options);
  result.lost_parts = find_lost_parts(model, places, observations, ranges);
  std::vector<std::string> kept = options.keep_float;
  for (const LostPart& part : result.lost_parts)
    if (part.node_stays_float) kept.push_back(part.node);
  if (kept.size() > options.keep_float.size()) {
    places = find_places(model, kept);
    std::erase_if(observations, [&](const auto& seen) { return !std::ranges::count(places.observed, seen.first); });
    ranges = ranges_of(model, places, observations, options);
  }
  DOVETAIL_ASSIGN(result.graph, quantized_graph(model, places, ranges, runs, options, make_forward, result.corrected));
  result.float_nodes = places.float_nodes;
  result.samples = static_cast<int>(samples.count);

  DOVETAIL_ASSIGN(Compared compared, compare(model, result.graph, places, ranges, runs, make_forward));
  result.tensors = std::move(compared.tensors), result.outputs = std::move(compared.outputs);
  result.same_choice = compared.same_choice;
  for (std::size_t i = 0; i < result.tensors.size(); ++i) {
    const Observation& observed = observations.at(source_of(places, compared.values[i]));
    result.tensors[i].least = observed.least(), result.tensors[i].greatest = observed.greatest();
  }
  if (options.layer_samples > 0) {
    result.layer_samples = static_cast<int>(std::min<std::int64_t>(samples.count, options.layer_samples));
    result.all_layers = places.observed.size();
    DOVETAIL_ASSIGN(result.layers, measure_layers(model, result.graph, places, ranges, options.worst_layers,
                                                  result.layer_samples, runs, make_forward));
  }
  return result;
}

std::vector<std::string> degenerate(const Quantized& quantized) {
  std::vector<std::string> findings;
  for (const TensorReport& tensor : quantized.tensors) {
    if (tensor.saturated > kMostSaturated)
      findings.push_back(
          fmt::format("{}: {:.1f} % saturated > {:.0f} %", tensor.value, 100 * tensor.saturated, 100 * kMostSaturated));
    if (tensor.commonest > kMostCommon)
      findings.push_back(fmt::format("{}: {:.1f} % of its elements are one value > {:.0f} %", tensor.value,
                                     100 * tensor.commonest, 100 * kMostCommon));
  }
  for (const LostPart& part : quantized.lost_parts)
    if (!part.node_stays_float)
      findings.push_back(
          fmt::format("{}: its part {} ({} to {} along axis {}) with values from {:.4g} to {:.4g} has {:.1f} of the "
                      "255 steps of the "
                      "common scale; --keep-float {} gives each part its own scale",
                      part.node, part.operand, part.begin, part.end - 1, part.axis, part.least, part.greatest,
                      part.steps, part.node));
  return findings;
}

Json Quantized::to_json() const {
  Json tensor_rows = Json::array(), output_rows = Json::array(), layer_rows = Json::array(), kept = Json::array(),
       pairs = Json::array(), part_rows = Json::array();
  for (const TensorReport& tensor : tensors)
    tensor_rows.push_back({{"value", tensor.value},
                           {"least", tensor.least},
                           {"greatest", tensor.greatest},
                           {"scale", tensor.q.scale},
                           {"zero_point", tensor.q.zero_point},
                           {"saturated", tensor.saturated},
                           {"commonest", tensor.commonest},
                           {"signal_to_noise_db", tensor.signal_to_noise_db}});
  for (const OutputReport& output : outputs)
    output_rows.push_back({{"output", output.output},
                           {"signal_to_noise_db", output.signal_to_noise_db},
                           {"rows", output.rows},
                           {"same_rows", output.same_rows}});
  for (const LayerReport& layer : layers)
    layer_rows.push_back({{"layer", layer.layer},
                          {"op", layer.op},
                          {"weights_db", layer.weights_db ? Json(*layer.weights_db) : Json(nullptr)},
                          {"channel_db", layer.channel_db ? Json(*layer.channel_db) : Json(nullptr)},
                          {"output_db", layer.output_db},
                          {"same_choice", layer.same_choice}});
  for (const auto& [name, op] : float_nodes) kept.push_back({{"node", name}, {"op", op}});
  for (const LostPart& part : lost_parts)
    part_rows.push_back({{"node", part.node},
                         {"operand", part.operand},
                         {"axis", part.axis},
                         {"begin", part.begin},
                         {"end", part.end},
                         {"least", part.least},
                         {"greatest", part.greatest},
                         {"steps", part.steps},
                         {"node_stays_float", part.node_stays_float}});
  for (const auto& [first, second] : equalized) pairs.push_back({first, second});
  return {{"samples", samples},       {"same_choice", same_choice},   {"tensors", tensor_rows},
          {"outputs", output_rows},   {"layers", layer_rows},         {"layer_samples", layer_samples},
          {"all_layers", all_layers}, {"lost_parts", part_rows},      {"float_nodes", kept},
          {"equalised", pairs},       {"corrected_biases", corrected}};
}

}  // namespace dovetail::quantize
