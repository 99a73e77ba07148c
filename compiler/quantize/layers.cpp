#include "compiler/quantize/layers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/saturating.h"
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

// Results of measured groups, keyed by the positions of their layers in the whole model.
class Kept {
 public:
  explicit Kept(const Runs& runs) : runs_(runs), groups_(runs.kept("layers")) {
    if (!groups_.is_object()) groups_ = Json::object();
  }
  std::optional<OutputTally> find(const Group& group, std::size_t outputs) const {
    const auto row = groups_.find(key(group));
    if (row == groups_.end()) return std::nullopt;
    try {
      OutputTally tally;
      for (const Json& ratio : row->at(0)) tally.outputs.push_back({ratio.at(0), ratio.at(1)});
      tally.same_choice = row->at(1);
      if (tally.outputs.size() == outputs) return tally;
    } catch (const Json::exception&) {  // not what add() writes: it is measured again
      return std::nullopt;
    }
    return std::nullopt;
  }
  Result<void> add(const Group& group) {
    Json ratios = Json::array();
    for (const SignalAndNoise& output : group.tally.outputs) ratios.push_back({output.signal, output.noise});
    groups_[key(group)] = {ratios, group.tally.same_choice};
    return runs_.keep("layers", [this] { return groups_; });
  }
  Result<void> report(const Step& step) const {
    return runs_.report("layers", step, [this] { return groups_; });
  }

 private:
  static std::string key(const Group& group) { return fmt::format("{} to {}", group.begin, group.end); }

  const Runs& runs_;
  Json groups_;
};

// The progress of all searches.
struct Progressed {
  std::int64_t done = 0, all = 0;
  std::uint64_t bytes = 0;
};

// If few layers are not searched, measuring all layers one by one needs no more runs.
constexpr std::size_t kLeastOfGroup = 4;

std::size_t groups_for(std::size_t layers, std::size_t most) { return most * kLeastOfGroup <= layers ? most : layers; }

// Upper bound: groups need no more runs than single layers, plus the last split.
std::int64_t runs_for(std::size_t layers, std::size_t most, std::int64_t samples) {
  return samples * static_cast<std::int64_t>(1 + layers + (groups_for(layers, most) < layers ? 2 : 0));
}

class Search {
 public:
  // `first`: the place of the first layer in the whole model.
  Search(const Forward& forward, const std::vector<Switched>& layers, std::size_t first,
         std::vector<std::string> outputs, std::int64_t samples, std::size_t most, const Runs& runs, Kept& kept,
         Progressed& progress)
      : forward_(forward),
        layers_(layers),
        first_(first),
        outputs_(std::move(outputs)),
        samples_(samples),
        runs_(runs),
        kept_(kept),
        progress_(progress),
        groups_(groups_for(layers.size(), most)) {}

  // Single layers, including the most costly ones.
  Result<std::vector<Group>> run() {
    for (std::int64_t s = 0; s < samples_; ++s) {
      DOVETAIL_ASSIGN(Values exact, run(s, 0, 0));
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
  // With the layers [begin, end) quantized, counted from the whole model's first.
  Result<Values> run(std::int64_t sample, std::size_t begin, std::size_t end) {
    DOVETAIL_TRY(
        kept_.report({.done = progress_.done++, .all = progress_.all, .at_most = true, .bytes = progress_.bytes}));
    Values inputs = runs_.samples().at(sample);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      NdArray choice(DType::boolean, {});
      choice.set_int64(0, first_ + l >= begin && first_ + l < end ? 1 : 0);
      inputs.emplace(layers_[l].input, std::move(choice));
    }
    return forward_(inputs);
  }

  Result<void> measure(std::size_t begin, std::size_t end, std::vector<Group>& into) {
    ++measured_;
    Group group{first_ + begin, first_ + end, {std::vector<SignalAndNoise>(outputs_.size()), 0}};
    if (auto known = kept_.find(group, outputs_.size())) {
      group.tally = *std::move(known);
      progress_.done += samples_;
    } else {
      for (std::int64_t s = 0; s < samples_; ++s) {
        DOVETAIL_ASSIGN(const Values got, run(s, group.begin, group.end));
        const Values& expected = exact_[static_cast<std::size_t>(s)];
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
          const NdArray &exact = expected.at(outputs_[o]), &actual = got.at(outputs_[o]);
          for (std::int64_t i = 0; i < exact.count(); ++i)
            group.tally.outputs[o].add(exact.as_double(i), actual.as_double(i));
        }
        group.tally.same_choice += arg_max(expected.at(outputs_[0])) == arg_max(got.at(outputs_[0]));
      }
      DOVETAIL_TRY(kept_.add(group));
    }
    group.begin -= first_, group.end -= first_;
    into.push_back(std::move(group));
    return {};
  }

  const Forward& forward_;
  const std::vector<Switched>& layers_;
  const std::size_t first_;
  const std::vector<std::string> outputs_;
  const std::int64_t samples_;
  const Runs& runs_;
  Kept& kept_;
  Progressed& progress_;
  std::size_t groups_;         // number of groups at first, and of single layers at the end
  std::vector<Values> exact_;  // per sample
  std::size_t measured_ = 0;   // measured groups
};

// A layer's result is quantized, and computed again with rounded weights: three more tensors and the constants.
std::uint64_t bytes_of_switches(const Graph& model, const Graph& quantized, const Places& places, Range range) {
  std::uint64_t most = 0, constants = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const ValueId value = places.observed[i];
    most = std::max(most, static_cast<std::uint64_t>(element_count(model.value(value).type.shape)));
    const auto made_by = places.made_by.find(value);
    if (made_by == places.made_by.end() || !has_weight(model.node(made_by->second))) continue;
    if (const auto weight = real_constant(quantized, quantized.node(made_by->second).inputs[1]))
      constants += static_cast<std::uint64_t>(weight->count());
  }
  return saturating_sum(peak_bytes(model, {}), sizeof(float) * (3 * most + 2 * constants));
}

}  // namespace

Result<std::vector<LayerReport>> measure_layers(const Graph& model, const Graph& quantized, const Places& places,
                                                const std::map<ValueId, Quantization>& ranges, std::size_t most,
                                                std::int64_t samples, const Runs& runs,
                                                const MakeForward& make_forward) {
  const auto bytes_of = [&](Range range) { return bytes_of_switches(model, quantized, places, range); };
  DOVETAIL_ASSIGN(const std::vector<Range> parts,
                  ranges_within(runs.budget(), places.observed.size(), bytes_of, model.name, "layers"));
  Kept kept(runs);
  Progressed progress;
  for (const Range part : parts) progress.all += runs_for(part.end - part.begin, most, samples);
  std::vector<LayerReport> reports;
  for (const Range part : parts) {
    SwitchedGraph switched(model, quantized);
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const ValueId value = places.observed[i];
      const auto made_by = places.made_by.find(value);
      switched.add_layer(value, made_by == places.made_by.end() ? NodeId{} : made_by->second, ranges.at(value));
    }
    const std::vector<Switched>& layers = switched.layers();
    progress.bytes = saturating_sum(runs.budget().used, bytes_of(part));
    DOVETAIL_TRY(kept.report(
        {.done = progress.done, .all = progress.all, .at_most = true, .compiling = true, .bytes = progress.bytes}));
    DOVETAIL_ASSIGN(const Forward forward, make_forward(switched.graph()));
    DOVETAIL_ASSIGN(const std::vector<Group> found,
                    Search(forward, layers, part.begin, forward.outputs, samples, most, runs, kept, progress).run());
    for (const Group& group : found) {
      LayerReport report = layers[group.begin].report;
      report.output_db = group.tally.worst_db();
      report.same_choice = group.tally.same_choice;
      reports.push_back(std::move(report));
    }
  }
  if (parts.size() > 1 && reports.size() > most) {
    // The most costly ones of all parts, in execution order.
    std::vector<std::size_t> order(reports.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t at) { return reports[at].output_db; });
    order.resize(most);
    std::ranges::sort(order);
    std::vector<LayerReport> costly;
    for (const std::size_t at : order) costly.push_back(std::move(reports[at]));
    return costly;
  }
  return reports;
}

}  // namespace dovetail::quantize
