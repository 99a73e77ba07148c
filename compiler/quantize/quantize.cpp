#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "compiler/passes/fold_constants.h"
#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"
#include "compiler/quantize/correct_biases.h"
#include "compiler/quantize/equalize.h"
#include "compiler/quantize/masks.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using passes::qdq::Quantization;
using Ranges = std::map<ValueId, Quantization>;

constexpr double kMostSaturated = 0.05, kMostCommon = 0.9;

// Normalizations of several nodes become one, whose insides have no ranges; factors and addends are folded into the
// weights before these are rounded.
Result<void> prepare(Graph& graph, const passes::PassContext& context) {
  DOVETAIL_TRY(passes::fold_constants(graph, context));
  DOVETAIL_TRY(passes::eliminate_identities(graph, context));
  DOVETAIL_TRY(passes::recognize_normalizations(graph, context));
  DOVETAIL_TRY(passes::fold_batch_norm(graph, context));
  DOVETAIL_TRY(passes::fold_scales(graph, context));
  hide_scores_by_condition(graph);
  DOVETAIL_TRY(passes::eliminate_dead_nodes(graph));
  return {};
}

Result<void> check(const Graph& graph, std::span<const Values> samples, const Options& options) {
  Diagnostics errors;
  if (samples.empty())
    errors.push_back({"cannot quantize " + graph.name, "samples",
                      "there are none, but ranges are computed from samples", "give at least one"});
  for (const NodeId id : graph.live_nodes())
    if (const graph::Node& node = graph.node(id); node.op == "QuantizeLinear" || node.op.starts_with("dovetail.q")) {
      errors.push_back({"cannot quantize " + graph.name, node.name, "the model is already quantized",
                        "give the float model that it was made from"});
      break;
    }
  for (const std::string& name : options.keep_float)
    if (!graph.find_node(name))
      errors.push_back({"cannot quantize " + graph.name, name, "the graph has no node of that name",
                        "`dovetail compile --dump import` lists the nodes"});
  return errors;
}

// The range that a Clip allows for its operand.
Limits bounds_of(const Graph& graph, ValueId value) {
  Limits bounds;
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).op != "Clip") return bounds;
  const std::vector<ValueId>& inputs = graph.node(producer).inputs;
  if (inputs.size() > 1 && inputs[1].valid()) bounds.low = passes::uniform(graph, inputs[1]).value_or(bounds.low);
  if (inputs.size() > 2 && inputs[2].valid()) bounds.high = passes::uniform(graph, inputs[2]).value_or(bounds.high);
  return bounds;
}

// Statistics of one tensor's steps, and the error of the real values compared with the float graph.
struct Tally {
  std::array<std::int64_t, 256> steps{};
  std::int64_t count = 0, cut_low = 0, cut_high = 0;
  SignalAndNoise ratio;

  void add(const NdArray& quantized, const NdArray& real, const Quantization& q) {
    const auto bytes = quantized.data<std::int8_t>();
    const auto reals = real.data<float>();
    const double scale = q.scale, lowest = (-128.5 - q.zero_point) * scale, highest = (127.5 - q.zero_point) * scale;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      cut_low += bytes[i] == -128 && static_cast<double>(reals[i]) < lowest;
      cut_high += bytes[i] == 127 && static_cast<double>(reals[i]) > highest;
      ++steps[static_cast<std::size_t>(bytes[i] + 128)];
      ratio.add(reals[i], static_cast<double>(bytes[i] - q.zero_point) * static_cast<double>(q.scale));
    }
    count += static_cast<std::int64_t>(bytes.size());
  }
  TensorReport report(std::string value, const Quantization& q, const Limits& bounds) const {
    const auto share = [&](std::int64_t part) {
      return count == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(count);
    };
    // An end that is the zero point or a bound clips nothing.
    const double scale = q.scale, half = scale / 2;
    const bool cuts_low = q.zero_point != -128 && (-128 - q.zero_point) * scale > bounds.low + half,
               cuts_high = q.zero_point != 127 && (127 - q.zero_point) * scale < bounds.high - half;
    const std::int64_t ends = (cuts_low ? cut_low : 0) + (cuts_high ? cut_high : 0);
    return {.value = std::move(value),
            .q = q,
            .saturated = share(ends),
            .commonest = share(*std::max_element(steps.begin(), steps.end())),
            .signal_to_noise_db = ratio.decibels()};
  }
};

ValueId source_of(const Places& places, ValueId value) {
  while (places.same_as.count(value)) value = places.same_as.at(value);
  return value;
}

// Runs both graphs, for the report on tensors and outputs.
class Comparison {
 public:
  Comparison(const Graph& model, const Graph& quantized, const Places& places, const Ranges& ranges)
      : model_(model), quantized_(quantized) {
    const auto take = [&](ValueId value) {
      if (!ranges.count(value)) return;
      const std::string& name = model.value(value).name;
      order_.push_back(
          {name, steps_name(name), ranges.at(value), bounds_of(model, source_of(places, value)), value, {}});
    };
    for (const ValueId input : model.inputs) take(input);
    for (const NodeId id : model.topological_order())
      for (const ValueId output : model.node(id).outputs) take(output);
    for (const ValueId output : model.outputs) outputs_.push_back({{model.value(output).name}, {}});
  }

  Result<void> run(std::span<const Values> samples, const MakeForward& make_forward, const Progress& progress) {
    std::vector<ValueId> reals(model_.outputs.begin(), model_.outputs.end()),
        steps(quantized_.outputs.begin(), quantized_.outputs.end());
    for (const Place& place : order_) {
      reals.push_back(place.value);
      steps.push_back(*quantized_.find_value(place.steps));
    }
    DOVETAIL_ASSIGN(const Forward exact, make_forward(with_outputs(model_, reals)));
    DOVETAIL_ASSIGN(const Forward integer, make_forward(with_outputs(quantized_, steps)));
    std::size_t sample = 0;
    Result<void> failed;
    DOVETAIL_TRY(run_all(exact, samples, "comparison", progress, [&](const Values& reals) {
      if (!failed.ok()) return;
      const auto got = integer(samples[sample++]);
      if (got.ok()) add(reals, *got);
      else failed = got.errors();
    }));
    return failed;
  }

  void report(const std::map<ValueId, Observation>& observations, const Places& places, Quantized& result) const {
    for (const Place& place : order_) {
      result.tensors.push_back(place.tally.report(place.name, place.q, place.bounds));
      const Observation& observed = observations.at(source_of(places, place.value));
      result.tensors.back().least = observed.least();
      result.tensors.back().greatest = observed.greatest();
    }
    for (const Output& output : outputs_) {
      result.outputs.push_back(output.report);
      result.outputs.back().signal_to_noise_db = output.ratio.decibels();
    }
    result.same_choice = same_choice_;
  }

 private:
  struct Place {
    std::string name, steps;
    Quantization q;
    Limits bounds;
    ValueId value;
    Tally tally;
  };
  struct Output {
    OutputReport report;
    SignalAndNoise ratio;
  };

  void add(const Values& expected, const Values& got) {
    for (Place& place : order_) place.tally.add(got.at(place.steps), expected.at(place.name), place.q);
    for (Output& output : outputs_) {
      const auto exact = expected.find(output.report.output), have = got.find(output.report.output);
      if (exact == expected.end() || have == got.end()) continue;  // an output that is also an input
      const NdArray &reals = exact->second, &others = have->second;
      for (std::int64_t i = 0; i < reals.count(); ++i) output.ratio.add(reals.as_double(i), others.as_double(i));
      const std::int64_t rows = reals.rank() > 1 ? reals.shape()[0] : 1;
      output.report.rows += rows;
      for (std::int64_t row = 0; row < rows; ++row)
        output.report.same_rows += arg_max_of_row(reals, row, rows) == arg_max_of_row(others, row, rows);
      if (&output == &outputs_.front()) same_choice_ += arg_max(reals) == arg_max(others);
    }
  }
  static std::int64_t arg_max_of_row(const NdArray& array, std::int64_t row, std::int64_t rows) {
    const std::int64_t count = array.count() / std::max<std::int64_t>(1, rows), begin = row * count;
    std::int64_t best = begin;
    for (std::int64_t i = begin; i < begin + count; ++i)
      if (array.as_double(i) > array.as_double(best)) best = i;
    return best - begin;
  }

  const Graph &model_, &quantized_;
  std::vector<Place> order_;
  std::vector<Output> outputs_;
  int same_choice_ = 0;
};

Ranges ranges_of(const Graph& model, const Places& places, const std::map<ValueId, Observation>& observations,
                 const Options& options) {
  Ranges ranges;
  for (const auto& [value, observation] : observations)
    ranges[value] = choose(observation, options.method, options.tail, bounds_of(model, value), options.grid);
  for (const auto& [value, source] : places.same_as) ranges[value] = ranges.at(source_of(places, value));
  return ranges;
}

// The QDQ graph, with corrected biases if requested.
Result<Graph> quantized_graph(const Graph& model, const Places& places, const Ranges& ranges,
                              std::span<const Values> samples, const Options& options, const MakeForward& make_forward,
                              std::vector<std::string>& corrected) {
  const WeightGrid weights{options.weights, options.grid.scales};
  Graph graph = model;
  insert_qdq(graph, places, ranges, weights);
  if (options.correct_biases) {
    DOVETAIL_ASSIGN(const Shifts shifts, measure_shifts(model, graph, samples, make_forward, options.progress));
    graph = model;
    corrected = correct_biases(graph, shifts);
    insert_qdq(graph, places, ranges, weights);
  }
  if (auto verified = graph::verify(graph); !verified) throw InternalError(to_string(verified.errors()));
  return graph;
}

}  // namespace

Result<Quantized> quantize(Graph model, std::span<const Values> samples, const Options& options,
                           const MakeForward& make_forward) {
  DOVETAIL_TRY(check(model, samples, options));
  DOVETAIL_TRY(prepare(model, options.context));
  Quantized result;
  if (options.equalize) result.equalized = equalize(model);
  Places places = find_places(model, options.keep_float);
  if (places.observed.empty())
    return Diagnostic{"cannot quantize " + model.name, "the model",
                      "it has no float operator that computes on int8 (docs/reference/quantization.md)",
                      options.keep_float.empty() ? "run it as it is" : "keep fewer nodes float"};

  // Ranges from the float graph.
  std::map<ValueId, Observation> observations;
  DOVETAIL_ASSIGN(const Forward observe, make_forward(with_outputs(model, places.observed)));
  DOVETAIL_TRY(run_all(observe, samples, "ranges", options.progress, [&](const Values& values) {
    for (const ValueId value : places.observed) observations[value].add(values.at(model.value(value).name));
  }));
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
  DOVETAIL_ASSIGN(result.graph,
                  quantized_graph(model, places, ranges, samples, options, make_forward, result.corrected));
  result.float_nodes = places.float_nodes;
  result.samples = static_cast<int>(samples.size());

  Comparison comparison(model, result.graph, places, ranges);
  DOVETAIL_TRY(comparison.run(samples, make_forward, options.progress));
  comparison.report(observations, places, result);
  if (options.layer_samples > 0) {
    const auto some = samples.first(std::min(samples.size(), static_cast<std::size_t>(options.layer_samples)));
    result.layer_samples = static_cast<int>(some.size());
    result.all_layers = places.observed.size();
    DOVETAIL_ASSIGN(result.layers, measure_layers(model, result.graph, places, ranges, options.worst_layers, some,
                                                  make_forward, options.progress));
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
