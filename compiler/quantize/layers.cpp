#include "compiler/quantize/layers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "compiler/passes/rewriting.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using passes::qdq::Quantization;

struct Switched {
  LayerReport report;
  std::string input;  // bool: whether the layer is quantized
};

class SwitchedGraph {
 public:
  SwitchedGraph(const Graph& model, const Graph& quantized) : model_(model), quantized_(quantized), graph_(model) {}

  // Adds a layer: the result of a place, and the weights of the node that computes it, if any.
  void add_layer(ValueId value, NodeId made_by, const Quantization& q) {
    Switched layer;
    layer.report.layer = made_by.valid() ? model_.node(made_by).name : model_.value(value).name;
    layer.report.op = made_by.valid() ? model_.node(made_by).op : "";
    const ValueId choice = graph_.add_value("quantize " + layer.report.layer,
                                            {DType::boolean, {}});  // a name that cannot occur in a model
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
  // Redirects readers of `now` to the value that `make` creates, selected by the switch.
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

  // No effect if the node has no quantized weights.
  void choose_weights(NodeId id, ValueId choice, LayerReport& report) {
    const Node node = model_.node(id), rounded = quantized_.node(id);
    if (!has_weight(node) || !model_.is_constant(node.inputs[1]) || rounded.inputs[1] == node.inputs[1]) return;
    const auto weight = real_constant(quantized_, rounded.inputs[1]);
    if (!weight) return;
    std::vector<ValueId> inputs = graph_.node(id).inputs;
    inputs[1] = graph_.add_constant(node.name + "/rounded", *weight);
    if (passes::has_input(rounded, 2))
      if (const auto bias = real_constant(quantized_, rounded.inputs[2])) {
        inputs.resize(3);
        inputs[2] = graph_.add_constant(node.name + "/rounded_bias", *bias);
      }
    choose_between(node.outputs[0], choice, [&] {
      return passes::insert(graph_, node.op, node.name + "/with_rounded", inputs, node.attributes, node.origins);
    });
    const NdArray& exact = *model_.value(node.inputs[1]).constant;
    const std::int64_t axis = output_axis(node, exact.rank());
    SignalAndNoise all;
    std::vector<SignalAndNoise> channels(static_cast<std::size_t>(exact.shape()[static_cast<std::size_t>(axis)]));
    for (std::int64_t i = 0; i < exact.count(); ++i) {
      all.add(exact.as_double(i), weight->as_double(i));
      channels[static_cast<std::size_t>(slice_of(exact, axis, i))].add(exact.as_double(i), weight->as_double(i));
    }
    report.weights_db = all.decibels();
    std::erase_if(channels, [](const SignalAndNoise& channel) { return channel.signal == 0; });
    for (const SignalAndNoise& channel : channels)
      report.channel_db = std::min(report.channel_db.value_or(channel.decibels()), channel.decibels());
  }

  const Graph &model_, &quantized_;
  Graph graph_;
  std::map<ValueId, ValueId> replaced_;  // the value that readers of a value now read
  std::vector<Switched> layers_;
};

// The model's outputs with some layers quantized, compared with the float outputs.
struct OutputTally {
  std::vector<SignalAndNoise> outputs;
  int same_choice = 0;

  double worst_db() const {
    double worst = std::numeric_limits<double>::infinity();
    for (const SignalAndNoise& output : outputs) worst = std::min(worst, output.decibels());
    return worst;
  }
};

// Neighboring layers [begin, end).
struct Group {
  std::size_t begin, end;
  OutputTally tally;
  std::size_t size() const { return end - begin; }
};

// With fewer layers for each one that is searched, measuring them one by one takes no more runs.
constexpr std::size_t kLeastOfGroup = 4;

class Search {
 public:
  Search(const Forward& forward, const std::vector<Switched>& layers, std::vector<std::string> outputs,
         std::span<const Values> samples, std::size_t most, const Progress& progress)
      : forward_(forward), layers_(layers), outputs_(std::move(outputs)), samples_(samples), progress_(progress) {
    groups_ = most * kLeastOfGroup <= layers.size() ? most : layers.size();
  }

  // Single layers, including the most costly ones.
  Result<std::vector<Group>> run() {
    NdArray off(DType::boolean, {});
    for (const Values& sample : samples_) {
      Values& inputs = inputs_.emplace_back(sample);
      for (const Switched& layer : layers_) inputs[layer.input] = off;
      DOVETAIL_ASSIGN(Values exact, run(inputs));
      exact_.push_back(std::move(exact));
    }
    std::vector<Group> open, found;
    for (std::size_t g = 0; g < groups_; ++g)
      DOVETAIL_TRY(measure(layers_.size() * g / groups_, layers_.size() * (g + 1) / groups_, open));
    while (found.size() < groups_ && measured_ <= layers_.size() && !open.empty()) {
      const auto worst = std::ranges::min_element(open, {}, [](const Group& group) { return group.tally.worst_db(); });
      const Group group = *worst;
      open.erase(worst);
      if (group.size() == 1) {
        found.push_back(group);
        continue;
      }
      const std::size_t middle = group.begin + group.size() / 2;
      DOVETAIL_TRY(measure(group.begin, middle, open));
      DOVETAIL_TRY(measure(middle, group.end, open));
    }
    std::ranges::sort(found, {}, &Group::begin);
    return found;
  }

 private:
  Result<Values> run(const Values& inputs) {
    if (progress_) DOVETAIL_TRY(progress_("layers", done_++, all_runs()));
    return forward_(inputs);
  }

  // Upper bound: groups need no more runs than single layers, plus the last split.
  std::int64_t all_runs() const {
    return static_cast<std::int64_t>(samples_.size() * (1 + layers_.size() + (groups_ < layers_.size() ? 2 : 0)));
  }

  Result<void> measure(std::size_t begin, std::size_t end, std::vector<Group>& into) {
    ++measured_;
    Group group{begin, end, {std::vector<SignalAndNoise>(outputs_.size()), 0}};
    NdArray off(DType::boolean, {}), on = off;
    on.set_int64(0, 1);
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      for (std::size_t l = begin; l < end; ++l) inputs_[s][layers_[l].input] = on;
      DOVETAIL_ASSIGN(const Values got, run(inputs_[s]));
      for (std::size_t l = begin; l < end; ++l) inputs_[s][layers_[l].input] = off;
      for (std::size_t o = 0; o < outputs_.size(); ++o) {
        const NdArray &exact = exact_[s].at(outputs_[o]), &actual = got.at(outputs_[o]);
        for (std::int64_t i = 0; i < exact.count(); ++i)
          group.tally.outputs[o].add(exact.as_double(i), actual.as_double(i));
      }
      group.tally.same_choice += arg_max(exact_[s].at(outputs_[0])) == arg_max(got.at(outputs_[0]));
    }
    into.push_back(std::move(group));
    return {};
  }

  const Forward& forward_;
  const std::vector<Switched>& layers_;
  const std::vector<std::string> outputs_;
  const std::span<const Values> samples_;
  const Progress& progress_;
  std::size_t groups_;                  // number of groups at first, and of single layers at the end
  std::vector<Values> inputs_, exact_;  // per sample
  std::size_t measured_ = 0;            // measured groups
  std::int64_t done_ = 0;               // finished runs
};

}  // namespace

Result<std::vector<LayerReport>> measure_layers(const Graph& model, const Graph& quantized, const Places& places,
                                                const std::map<ValueId, Quantization>& ranges, std::size_t most,
                                                std::span<const Values> samples, const MakeForward& make_forward,
                                                const Progress& progress) {
  SwitchedGraph switched(model, quantized);
  for (const ValueId value : places.observed) {
    const auto made_by = places.made_by.find(value);
    switched.add_layer(value, made_by == places.made_by.end() ? NodeId{} : made_by->second, ranges.at(value));
  }
  const std::vector<Switched>& layers = switched.layers();
  std::vector<std::string> outputs;
  for (const ValueId output : switched.graph().outputs) outputs.push_back(switched.graph().value(output).name);
  DOVETAIL_ASSIGN(const Forward forward, make_forward(switched.graph()));
  DOVETAIL_ASSIGN(const std::vector<Group> found, Search(forward, layers, outputs, samples, most, progress).run());
  std::vector<LayerReport> reports;
  for (const Group& group : found) {
    LayerReport report = layers[group.begin].report;
    report.output_db = group.tally.worst_db();
    report.same_choice = group.tally.same_choice;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace dovetail::quantize
