#include "compiler/quantize/layers.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "compiler/passes/rewriting.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using passes::qdq::Quantisation;

struct Switched {
  LayerReport report;
  std::string input;  // bool: whether the layer is quantised
};

// The node's quantised weights as reals; nothing where it has none.
std::optional<NdArray> rounded_weights(const Graph& model, const Graph& quantised, NodeId id) {
  const Node &node = model.node(id), &rounded = quantised.node(id);
  if ((node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul") || !model.is_constant(node.inputs[1]) ||
      rounded.inputs[1] == node.inputs[1])
    return std::nullopt;
  return real_constant(quantised, rounded.inputs[1]);
}

SignalAndNoise noise_of(const Graph& model, NodeId id, const NdArray& rounded) {
  const NdArray& exact = *model.value(model.node(id).inputs[1]).constant;
  SignalAndNoise sum;
  for (std::int64_t i = 0; i < exact.count(); ++i) sum.add(exact.as_double(i), rounded.as_double(i));
  return sum;
}

class SwitchedGraph {
 public:
  SwitchedGraph(const Graph& model, const Graph& quantised) : model_(model), quantised_(quantised), graph_(model) {}

  // The result of a place, and where a node with weights makes it, these.
  void add_layer(ValueId value, NodeId made_by, const Quantisation& q) {
    Switched layer;
    layer.report.layer = made_by.valid() ? model_.node(made_by).name : model_.value(value).name;
    layer.report.op = made_by.valid() ? model_.node(made_by).op : "";
    const ValueId choice =
        graph_.add_value("quantise " + layer.report.layer, {DType::boolean, {}});  // a name that no model has
    graph_.inputs.push_back(choice);
    layer.input = graph_.value(choice).name;
    if (made_by.valid()) choose_weights(made_by, choice, layer.report);
    const ValueId now = made_by.valid() && replaced_.count(value) ? replaced_.at(value) : value;
    const std::string name = graph_.value(value).name;
    NdArray zero(DType::int8, {});
    zero.set_int64(0, q.zero_point);
    const ValueId scale = graph_.add_constant(name + "/scale", NdArray::scalar(q.scale)),
                  zero_point = graph_.add_constant(name + "/zero_point", std::move(zero));
    choose_between(now, choice, [&] {
      const ValueId steps = passes::insert(graph_, "QuantizeLinear", name + "/steps", {now, scale, zero_point}, {}, {});
      return passes::insert(graph_, "DequantizeLinear", name + "/real", {steps, scale, zero_point}, {}, {});
    });
    layers_.push_back(std::move(layer));
  }

  std::vector<Switched>& layers() { return layers_; }
  const Graph& graph() const { return graph_; }

 private:
  // Readers of `now` get what `make` makes where the switch is on.
  template <typename Make>
  void choose_between(ValueId now, ValueId choice, Make make) {
    const std::string name = graph_.value(now).name;
    const ValueId chosen = graph_.add_value(name + "/chosen", graph_.value(now).type);
    graph_.replace_uses(now, chosen);
    const ValueId other = make();
    Node where;
    where.name = graph_.unique_node_name(name + "/choice");
    where.op = "Where";
    where.inputs = {choice, other, now};
    where.outputs = {chosen};
    graph_.add_node(std::move(where));
    replaced_[now] = chosen;
  }

  // Does nothing where the node has no quantised weights.
  void choose_weights(NodeId id, ValueId choice, LayerReport& report) {
    const Node node = model_.node(id), rounded = quantised_.node(id);
    const auto weight = rounded_weights(model_, quantised_, id);
    if (!weight) return;
    std::vector<ValueId> inputs = graph_.node(id).inputs;
    inputs[1] = graph_.add_constant(node.name + "/rounded", *weight);
    if (passes::has_input(rounded, 2))
      if (const auto bias = real_constant(quantised_, rounded.inputs[2])) {
        inputs.resize(3);
        inputs[2] = graph_.add_constant(node.name + "/rounded_bias", *bias);
      }
    choose_between(node.outputs[0], choice, [&] {
      return passes::insert(graph_, node.op, node.name + "/with_rounded", inputs, node.attributes, node.origins);
    });
    const NdArray& exact = *model_.value(node.inputs[1]).constant;
    const std::int64_t axis = output_axis(node, exact.rank());
    std::vector<SignalAndNoise> channels(static_cast<std::size_t>(exact.shape()[static_cast<std::size_t>(axis)]));
    for (std::int64_t i = 0; i < exact.count(); ++i)
      channels[static_cast<std::size_t>(slice_of(exact, axis, i))].add(exact.as_double(i), weight->as_double(i));
    report.weights_db = noise_of(model_, id, *weight).decibels();
    std::erase_if(channels, [](const SignalAndNoise& channel) { return channel.signal == 0; });
    for (const SignalAndNoise& channel : channels)
      report.channel_db = std::min(report.channel_db.value_or(channel.decibels()), channel.decibels());
  }

  const Graph &model_, &quantised_;
  Graph graph_;
  std::map<ValueId, ValueId> replaced_;  // what readers of a value read now
  std::vector<Switched> layers_;
};

NodeId maker_of(const Places& places, ValueId value) {
  const auto made_by = places.made_by.find(value);
  return made_by == places.made_by.end() ? NodeId{} : made_by->second;
}

// Those whose own noise is the largest part of their signal, in their order.
std::vector<ValueId> worst_alone(const Graph& model, const Graph& quantised, const Places& places,
                                 const OwnNoise& own_noise, std::size_t most) {
  const auto share = [](const SignalAndNoise& sum) { return sum.signal > 0 ? sum.noise / sum.signal : 0; };
  std::vector<std::pair<double, ValueId>> layers;
  for (const ValueId value : places.observed) {
    double noise = own_noise.contains(value) ? share(own_noise.at(value)) : 0;
    if (const NodeId maker = maker_of(places, value); maker.valid())
      if (const auto weights = rounded_weights(model, quantised, maker))
        noise += share(noise_of(model, maker, *weights));
    layers.emplace_back(noise, value);
  }
  std::ranges::stable_sort(layers, std::ranges::greater(), &std::pair<double, ValueId>::first);
  layers.resize(std::min(layers.size(), most));
  std::vector<ValueId> worst;
  for (const ValueId value : places.observed)
    if (std::ranges::find(layers, value, &std::pair<double, ValueId>::second) != layers.end()) worst.push_back(value);
  return worst;
}

// The model's outputs of one run against the float ones.
struct OutputTally {
  std::vector<SignalAndNoise> outputs;
  int same_choice = 0;
};

}  // namespace

Result<std::vector<LayerReport>> measure_layers(const Graph& model, const Graph& quantised, const Places& places,
                                                const std::map<ValueId, Quantisation>& ranges,
                                                const OwnNoise& own_noise, std::size_t most,
                                                std::span<const Values> samples, const MakeForward& make_forward,
                                                const Progress& progress) {
  SwitchedGraph switched(model, quantised);
  for (const ValueId value : worst_alone(model, quantised, places, own_noise, most))
    switched.add_layer(value, maker_of(places, value), ranges.at(value));
  std::vector<Switched>& layers = switched.layers();
  std::vector<std::string> outputs;
  for (const ValueId output : switched.graph().outputs) outputs.push_back(switched.graph().value(output).name);
  DOVETAIL_ASSIGN(const Forward forward, make_forward(switched.graph()));

  std::vector<OutputTally> tallies(layers.size(), {std::vector<SignalAndNoise>(outputs.size()), 0});
  std::int64_t done = 0;
  const auto all = static_cast<std::int64_t>(samples.size() * (layers.size() + 1));
  const auto run = [&](const Values& inputs) -> Result<Values> {
    if (progress) DOVETAIL_TRY(progress("layers", done++, all));
    return forward(inputs);
  };
  for (const Values& sample : samples) {
    Values inputs = sample;
    NdArray off(DType::boolean, {}), on = off;
    on.set_int64(0, 1);
    for (const Switched& layer : layers) inputs[layer.input] = off;
    DOVETAIL_ASSIGN(const Values exact, run(inputs));
    for (std::size_t l = 0; l < layers.size(); ++l) {
      inputs[layers[l].input] = on;
      DOVETAIL_ASSIGN(const Values got, run(inputs));
      inputs[layers[l].input] = off;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const NdArray &want = exact.at(outputs[o]), &have = got.at(outputs[o]);
        for (std::int64_t i = 0; i < want.count(); ++i) tallies[l].outputs[o].add(want.as_double(i), have.as_double(i));
      }
      tallies[l].same_choice += arg_max(exact.at(outputs[0])) == arg_max(got.at(outputs[0]));
    }
  }
  std::vector<LayerReport> reports;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    LayerReport report = layers[l].report;
    report.output_db = 1e9;
    for (const SignalAndNoise& output : tallies[l].outputs)
      report.output_db = std::min(report.output_db, output.decibels());
    report.same_choice = tallies[l].same_choice;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace dovetail::quantize
