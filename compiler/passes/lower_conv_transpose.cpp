#include "compiler/passes/lower_conv_transpose.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/ops/conv_transpose.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;
using graph::ValueId;
using ops::ConvTransposeShape;

// Along one axis: the Conv has `taps`, reads `before` zeros in front of the input and `after` behind it, and has
// `positions` outputs, of which each becomes `stride` elements; the result begins with element `skipped`.
struct Phase {
  std::int64_t stride, dilation, taps, before, after, positions, skipped;
};

// Nothing where the strides and dilations of an axis both exceed 1: its phases would have different taps.
std::optional<std::vector<Phase>> phases_of(const ConvTransposeShape& s) {
  std::vector<Phase> phases;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    if (s.strides[d] > 1 && s.dilations[d] > 1) return std::nullopt;
    Phase p{s.strides[d], s.dilations[d], (s.kernel[d] + s.strides[d] - 1) / s.strides[d], 0, 0, 0, 0};
    const std::int64_t reach = (p.taps - 1) * p.dilation;  // elements in front of the first position's own
    const std::int64_t first = std::clamp<std::int64_t>(s.pad_begin[d] / p.stride, 0, reach);
    p.skipped = s.pad_begin[d] - first * p.stride;
    if (p.skipped < 0) return std::nullopt;
    p.before = reach - first;
    p.positions = (p.skipped + s.output[d] + p.stride - 1) / p.stride;
    p.after = p.positions + reach - s.input[d] - p.before;
    if (p.after < 0) {  // positions that nobody asks for: computed and cut off
      p.positions -= p.after;
      p.after = 0;
    }
    phases.push_back(p);
  }
  return phases;
}

// [inputs, outputs / group, kernel...] as the Conv's [outputs * strides, inputs / group, taps...].
NdArray phase_weights(const NdArray& w, const ConvTransposeShape& s, const std::vector<Phase>& phases) {
  const std::int64_t inputs = s.in_channels / s.group, outputs = s.out_channels / s.group;
  std::int64_t parts = 1;
  Shape shape{0, inputs};
  for (const Phase& p : phases) {
    parts *= p.stride;
    shape.push_back(p.taps);
  }
  shape[0] = s.out_channels * parts;
  NdArray result(w.dtype(), shape);
  const std::int64_t taps = element_count(shape) / (shape[0] * inputs), kernel = element_count(s.kernel);
  for (std::int64_t to = 0; to < result.count(); ++to) {
    std::int64_t tap = to % taps, part = to / (taps * inputs) % parts, source = 0, weight = 1;
    const std::int64_t input = to / taps % inputs, output = to / (taps * inputs * parts);
    bool inside = true;
    for (std::size_t d = phases.size(); d-- > 0;) {
      const Phase& p = phases[d];
      // The Conv's taps run the other way.
      const std::int64_t place = part % p.stride + p.stride * (p.taps - 1 - tap % p.taps);
      inside = inside && place < s.kernel[d];
      source += place * weight;
      weight *= s.kernel[d];
      tap /= p.taps;
      part /= p.stride;
    }
    if (!inside) continue;
    const std::int64_t channel = output / outputs * inputs + input;
    result.set_double(to, w.as_double((channel * outputs + output % outputs) * kernel + source));
  }
  return result;
}

NdArray repeated(const NdArray& bias, std::int64_t times) {
  NdArray result(bias.dtype(), {bias.count() * times});
  for (std::int64_t i = 0; i < result.count(); ++i) result.set_double(i, bias.as_double(i / times));
  return result;
}

class PhaseLowering {
 public:
  PhaseLowering(graph::Graph& graph, NodeId id, const ConvTransposeShape& shape, const std::vector<Phase>& phases)
      : graph_(graph), id_(id), node_(graph.node(id)), shape_(shape), phases_(phases) {
    for (const Phase& p : phases_) parts_ *= p.stride;
  }

  void run() {
    ValueId value = conv();
    if (parts_ > 1) value = side_by_side(value);
    cut(value);
  }

 private:
  ValueId add(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes = {}) {
    return insert(graph_, op, node_.name + "/phases", std::move(inputs), std::move(attributes), node_.origins);
  }
  ValueId integers(const char* stem, const std::vector<std::int64_t>& values) {
    return add_integers(graph_, fmt::format("{}/{}", node_.name, stem), values);
  }

  ValueId conv() {
    const auto given = [&](std::size_t input) -> const NdArray& { return *graph_.value(node_.inputs[input]).constant; };
    std::vector<std::int64_t> pads, ends, dilations;
    for (const Phase& p : phases_) {
      pads.push_back(p.before);
      ends.push_back(p.after);
      dilations.push_back(p.dilation);
    }
    pads.insert(pads.end(), ends.begin(), ends.end());
    std::vector<ValueId> inputs{
        node_.inputs[0], graph_.add_constant(node_.name + "/phase_weights", phase_weights(given(1), shape_, phases_))};
    if (has_input(node_, 2))
      inputs.push_back(graph_.add_constant(node_.name + "/phase_bias", repeated(given(2), parts_)));
    return add("Conv", std::move(inputs), {{"pads", pads}, {"dilations", dilations}, {"group", shape_.group}});
  }

  // [n, o * strides, positions...] as [n, o, positions * strides...].
  ValueId side_by_side(ValueId value) {
    const std::int64_t rank = static_cast<std::int64_t>(phases_.size());
    std::vector<std::int64_t> apart{shape_.batch, shape_.out_channels}, order{0, 1}, whole = apart;
    for (const Phase& p : phases_) apart.push_back(p.stride);
    for (const Phase& p : phases_) {
      apart.push_back(p.positions);
      whole.push_back(p.positions * p.stride);
    }
    for (std::int64_t d = 0; d < rank; ++d) order.insert(order.end(), {2 + rank + d, 2 + d});
    value = add("Reshape", {value, integers("apart", apart)});
    value = add("Transpose", {value}, {{"perm", order}});
    return add("Reshape", {value, integers("whole", whole)});
  }

  void cut(ValueId value) {
    std::vector<std::int64_t> starts, ends, axes;
    for (std::size_t d = 0; d < phases_.size(); ++d) {
      starts.push_back(phases_[d].skipped);
      ends.push_back(phases_[d].skipped + shape_.output[d]);
      axes.push_back(static_cast<std::int64_t>(d) + 2);
    }
    DOVETAIL_CHECK(become(graph_, id_, "Slice",
                          {value, integers("starts", starts), integers("ends", ends), integers("axes", axes)}),
                   "the parts hold the result");
  }

  graph::Graph& graph_;
  const NodeId id_;
  const graph::Node node_;
  const ConvTransposeShape& shape_;
  const std::vector<Phase>& phases_;
  std::int64_t parts_ = 1;
};

bool lower_to_phases(graph::Graph& graph, NodeId id) {
  const graph::Node& node = graph.node(id);
  if (node.op != "ConvTranspose" || !graph.is_constant(node.inputs[1])) return false;
  if (has_input(node, 2) && !graph.is_constant(node.inputs[2])) return false;
  const auto shape = ops::conv_transpose_shape({graph, node});
  if (!shape) return false;
  const auto phases = phases_of(*shape);
  if (!phases) return false;
  PhaseLowering(graph, id, *shape, *phases).run();
  return true;
}

}  // namespace

Result<PassOutcome> lower_conv_transpose(graph::Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order())
    if (lower_to_phases(graph, id)) ++outcome.changes;
  return outcome;
}

}  // namespace dovetail::passes
